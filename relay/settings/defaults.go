package settings

const (
	defaultLeaseSeconds      = 30
	defaultBatchSize         = 500
	defaultMaxAttempts       = 10
	defaultBackoffSeconds    = 5
	defaultMaxBackoffSeconds = 300
	defaultMaxAgeSeconds     = 86400
)

// withDefaults fills in what is unset. An explicit value, a wrong one too, is
// kept: validate speaks about it.
func (s Settings) withDefaults() Settings {
	setDefault(&s.LeaseDurationSeconds, defaultLeaseSeconds)
	setDefault(&s.BatchSize, defaultBatchSize)
	setDefault(&s.Database.TLS.Mode, TLSVerifyFull)
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
