package settings

const (
	defaultLeaseSeconds      = 30
	defaultBatchSize         = 500
	defaultMaxAttempts       = 10
	defaultBackoffSeconds    = 5
	defaultMaxBackoffSeconds = 300
	defaultMaxAgeSeconds     = 86400
	defaultClaimLeases       = 4
	defaultMaxBytesInFlight  = 32 << 20
	defaultOldestPercent     = 10
	defaultSentSeconds       = 7 * 86400
)

// withDefaults fills in what is unset. An explicit value, a wrong one too, is
// kept: validate speaks about it.
func (s Settings) withDefaults() Settings {
	setDefault(&s.LeaseDurationSeconds, defaultLeaseSeconds)
	setDefault(&s.BatchSize, defaultBatchSize)
	setDefault(&s.Database.TLS.Mode, TLSVerifyFull)
	setDefault(&s.MaxClaimSeconds, min(defaultClaimLeases*max(s.LeaseDurationSeconds, 0), maxClaimSeconds))
	setDefault(&s.MaxBytesInFlight, defaultMaxBytesInFlight)
	setDefault(&s.Database.Pooling, PoolingSession)
	if s.Kafka.TLS != nil {
		encrypted := *s.Kafka.TLS
		setDefault(&encrypted.Mode, TLSVerifyFull)
		s.Kafka.TLS = &encrypted
	}
	setDefault(&s.Kafka.Compression, LZ4)
	setDefault(&s.Mapping.Preset, PresetRelayfleet)
	setDefault(&s.Ordering.Mode, OrderNone)
	if s.Ordering.Mode == OrderKey {
		setDefault(&s.Ordering.OnFailed, Halt)
	}
	if s.Priority.Enabled {
		setDefault(&s.Priority.OldestPercent, defaultOldestPercent)
	}
	setDefault(&s.Retention.Policy, RetentionKeep)
	if s.Retention.Policy == RetentionDelete {
		setDefault(&s.Retention.SentSeconds, defaultSentSeconds)
	}
	setDefault(&s.WakeUp.Mode, WakeUpPoll)
	setDefault(&s.Retry.MaxAttempts, defaultMaxAttempts)
	setDefault(&s.Retry.BackoffSeconds, defaultBackoffSeconds)
	setDefault(&s.Retry.MaxBackoffSeconds, max(defaultMaxBackoffSeconds, s.Retry.BackoffSeconds))
	if s.Retry.MaxAgeSeconds == nil {
		s.Retry.MaxAgeSeconds = new(defaultMaxAgeSeconds)
	}
	return s
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
