package resources

import (
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/settings"
)

const (
	// SettingsKey is the file in the ConfigMap.
	SettingsKey = "settings.yaml"

	settingsDirectory = "/etc/relayfleet/settings"
	databaseDirectory = "/etc/relayfleet/database"
	kafkaDirectory    = "/etc/relayfleet/kafka"
	uriFile           = "uri"
	caFile            = "ca.crt"
	certificateFile   = "tls.crt"
	privateKeyFile    = "tls.key"
	usernameFile      = "username"
	passwordFile      = "password"
	clientSecretFile  = "client-secret"
	tokenCAFile       = "token-ca.crt" //nolint:gosec // A name of a file.
)

// Settings is the relays' configuration file: name and content of a ConfigMap.
type Settings struct {
	// Name ends in Hash, which is that of the content.
	Name    string
	Hash    string
	Content []byte
}

// RenderSettings writes the relays' configuration file, with only what the user
// has set: a default belongs to the relay that reads it. What a relay would
// refuse is an error.
func RenderSettings(relay *v1alpha1.OutboxRelay) (Settings, error) {
	content, err := settings.Render(settingsOf(relay))
	if err != nil {
		return Settings{}, err
	}
	if _, err := settings.Parse(content); err != nil {
		return Settings{}, err
	}
	hash := settings.Hash(content)
	return Settings{Name: Name(relay) + "-" + hash, Hash: hash, Content: content}, nil
}

// ConfigMap holds the settings. It is immutable and named by its content, so a
// pod runs with what it was created with, however late it starts.
func ConfigMap(relay *v1alpha1.OutboxRelay, s Settings) *applycorev1.ConfigMapApplyConfiguration {
	return applycorev1.ConfigMap(s.Name, relay.Namespace).
		WithLabels(childLabels(relay)).
		WithOwnerReferences(ownerReference(relay)).
		WithImmutable(true).
		WithData(map[string]string{SettingsKey: string(s.Content)})
}

func settingsOf(relay *v1alpha1.OutboxRelay) settings.Settings {
	spec := &relay.Spec
	table := spec.EffectiveTable()
	s := settings.Settings{
		Fleet:                settings.Fleet{Namespace: relay.Namespace, Name: relay.Name, UID: string(relay.UID)},
		Table:                settings.Table{Schema: table.Schema, Name: table.Name},
		Topic:                spec.Topic,
		LeaseDurationSeconds: int(spec.LeaseDurationSeconds),
		BatchSize:            int(spec.BatchSize),
		MaxClaimSeconds:      int(spec.MaxClaimSeconds),
		MaxBytesInFlight:     spec.MaxBytesInFlight,
		Database:             databaseOf(spec.Database),
		Kafka:                kafkaOf(spec.Kafka),
		Mapping:              mappingOf(spec.Mapping),
		Ordering: settings.Ordering{
			Mode: settings.OrderingMode(spec.Ordering.Mode), OnFailed: settings.OnFailed(spec.Ordering.OnFailed),
		},
		Priority: settings.Priority{Enabled: spec.Priority.Enabled, OldestPercent: int(spec.Priority.OldestPercent)},
		Retry:    retryOf(spec.Retry),
		Retention: settings.Retention{
			Policy: settings.RetentionPolicy(spec.Retention.Policy), SentSeconds: int(spec.Retention.SentSeconds),
			Statuses: spec.Retention.Statuses,
		},
		WakeUp: settings.WakeUp{Mode: settings.WakeUpMode(spec.WakeUp.Mode), Channel: spec.WakeUp.Channel},
	}
	if from := spec.TopicFrom; from != nil {
		s.TopicFrom = settings.TopicFrom{Column: from.Column, Template: from.Template}
	}
	return s
}

func databaseOf(database v1alpha1.Database) settings.Database {
	return settings.Database{
		URIFile: databaseDirectory + "/" + uriFile,
		TLS: tlsOf(databaseDirectory, settings.TLSMode(database.TLS.Mode), database.TLS.CAFrom,
			database.TLS.ClientCertificateFrom),
		Pooling: settings.Pooling(database.Pooling),
	}
}

// tlsOf names the files that files mounts in a directory.
func tlsOf(
	directory string, mode settings.TLSMode, ca *v1alpha1.CertificateSource, client *v1alpha1.ClientCertificateSource,
) settings.TLS {
	t := settings.TLS{Mode: mode}
	if ca != nil {
		t.CAFile = directory + "/" + caFile
	}
	if client != nil {
		t.CertificateFile, t.PrivateKeyFile = directory+"/"+certificateFile, directory+"/"+privateKeyFile
	}
	return t
}

func kafkaOf(kafka v1alpha1.Kafka) settings.Kafka {
	k := settings.Kafka{BootstrapServers: kafka.BootstrapServers, Compression: settings.Compression(kafka.Compression)}
	if t := kafka.TLS; t != nil {
		k.TLS = new(tlsOf(kafkaDirectory, settings.TLSMode(t.Mode), t.CAFrom, t.ClientCertificateFrom))
	}
	if a := kafka.Authentication; a != nil {
		k.Authentication = authenticationOf(a)
	}
	return k
}

func authenticationOf(a *v1alpha1.KafkaAuthentication) *settings.Authentication {
	read := &settings.Authentication{Type: settings.Mechanism(a.Type), Username: a.Username}
	if a.UsernameFrom != nil {
		read.UsernameFile = kafkaDirectory + "/" + usernameFile
	}
	if a.PasswordFrom != nil {
		read.PasswordFile = kafkaDirectory + "/" + passwordFile
	}
	if o := a.OAuth; o != nil {
		read.OAuth = &settings.OAuth{
			TokenEndpoint: o.TokenEndpoint, ClientID: o.ClientID, ClientSecretFile: kafkaDirectory + "/" + clientSecretFile,
			Scope: o.Scope, Audience: o.Audience,
		}
		if o.CAFrom != nil {
			read.OAuth.CAFile = kafkaDirectory + "/" + tokenCAFile
		}
	}
	return read
}

func mappingOf(m v1alpha1.Mapping) settings.Mapping {
	mapping := settings.Mapping{
		Preset: settings.Preset(m.Preset), Columns: settings.Columns(m.Columns), Statuses: settings.Statuses(m.Statuses),
	}
	for _, h := range m.Headers {
		mapping.Headers = append(mapping.Headers, settings.HeaderColumn{Name: h.Name, Column: h.Column})
	}
	return mapping
}

func retryOf(retry v1alpha1.Retry) settings.Retry {
	r := settings.Retry{
		MaxAttempts:       int(retry.MaxAttempts),
		BackoffSeconds:    int(retry.BackoffSeconds),
		MaxBackoffSeconds: int(retry.MaxBackoffSeconds),
	}
	if retry.MaxAgeSeconds != nil {
		r.MaxAgeSeconds = new(int(*retry.MaxAgeSeconds))
	}
	return r
}
