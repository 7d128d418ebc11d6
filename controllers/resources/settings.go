package resources

import (
	"fmt"

	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/settings"
)

const (
	// SettingsKey is the file in the ConfigMap.
	SettingsKey = "settings.yaml"

	settingsDirectory = "/etc/relayfleet/settings"
	databaseDirectory = "/etc/relayfleet/database"
	uriFile           = "uri"
	caFile            = "ca.crt"
)

// Settings is the relays' configuration file: name and content of a ConfigMap.
type Settings struct {
	// Name ends in the hash of the content.
	Name    string
	Content []byte
}

// RenderSettings writes the relays' configuration file, with only what the user
// has set: a default belongs to the relay that reads it.
func RenderSettings(relay *v1alpha1.OutboxRelay) (Settings, error) {
	content, err := settings.Render(settingsOf(relay))
	if err != nil {
		return Settings{}, fmt.Errorf("render the settings of %s: %w", relay.Name, err)
	}
	return Settings{Name: Name(relay) + "-" + settings.Hash(content), Content: content}, nil
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
	return settings.Settings{
		Fleet:                settings.Fleet{Namespace: relay.Namespace, Name: relay.Name, UID: string(relay.UID)},
		Table:                settings.Table{Schema: table.Schema, Name: table.Name},
		Topic:                spec.Topic,
		LeaseDurationSeconds: int(spec.LeaseDurationSeconds),
		BatchSize:            int(spec.BatchSize),
		Database:             databaseOf(spec.Database),
		Kafka:                settings.Kafka{BootstrapServers: spec.Kafka.BootstrapServers},
		Retry:                retryOf(spec.Retry),
	}
}

func databaseOf(database v1alpha1.Database) settings.Database {
	d := settings.Database{
		URIFile: databaseDirectory + "/" + uriFile,
		TLS:     settings.TLS{Mode: settings.TLSMode(database.TLS.Mode)},
	}
	if database.TLS.CAFrom != nil {
		d.TLS.CAFile = databaseDirectory + "/" + caFile
	}
	return d
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
