package controllers

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/relay/report"
)

// What is missing or wrong is named as the user wrote it: object, key and field.
func TestCredentialsAreNamedAsTheSpecNamesThem(t *testing.T) {
	t.Parallel()
	secret := func(name, key string) v1alpha1.KeyReference { return v1alpha1.KeyReference{Name: name, Key: key} }
	ca := &v1alpha1.CertificateSource{ConfigMapKeyRef: new(secret("ca", "root.pem"))}
	client := &v1alpha1.ClientCertificateSource{SecretRef: v1alpha1.ClientCertificateReference{Name: "client", CertificateKey: "user.crt"}}
	scram := v1alpha1.OutboxRelaySpec{
		Database: v1alpha1.Database{
			URIFrom: v1alpha1.SecretSource{SecretKeyRef: secret("db", "uri")},
			TLS:     v1alpha1.DatabaseTLS{CAFrom: ca, ClientCertificateFrom: client},
		},
		Kafka: v1alpha1.Kafka{
			BootstrapServers: []string{"kafka:9092"},
			TLS:              &v1alpha1.KafkaTLS{CAFrom: ca, ClientCertificateFrom: client},
			Authentication: &v1alpha1.KafkaAuthentication{
				UsernameFrom: &v1alpha1.SecretSource{SecretKeyRef: secret("user", "name")},
				PasswordFrom: &v1alpha1.SecretSource{SecretKeyRef: secret("user", "password")},
			},
		},
	}
	oauth := scram
	oauth.Kafka.Authentication = &v1alpha1.KafkaAuthentication{OAuth: &v1alpha1.OAuth{
		ClientSecretFrom: v1alpha1.SecretSource{SecretKeyRef: secret("oauth", "secret")}, CAFrom: ca,
	}}
	for _, tc := range []struct {
		spec  v1alpha1.OutboxRelaySpec
		table map[report.Code]advice
		code  report.Code
		slots []string
		want  string
	}{
		{scram, databaseAdvice, report.CredentialsMissing, []string{"uri"}, `Secret "db" with key "uri" is missing: create it, or correct spec.database.uriFrom`},
		{scram, databaseAdvice, report.CredentialsMissing, []string{"key"}, `Secret "client" with key "tls.key" is missing: create it, or correct spec.database.tls.clientCertificateFrom`},
		{scram, brokerAdvice, report.CredentialsMissing, []string{"ca"}, `ConfigMap "ca" with key "root.pem" is missing: create it, or correct spec.kafka.tls.caFrom`},
		{scram, brokerAdvice, report.CredentialsMissing, []string{"certificate"}, `Secret "client" with key "user.crt" is missing: create it, or correct spec.kafka.tls.clientCertificateFrom`},
		{scram, brokerAdvice, report.CredentialsMissing, []string{"username", "password"}, `Secret "user" with key "name" and Secret "user" with key "password" is missing`},
		{scram, brokerAdvice, report.CredentialsInvalid, []string{"password"}, `Secret "user" with key "password" cannot be read`},
		{scram, brokerAdvice, report.AuthenticationFailed, nil, `kafka:9092 refuses user or password`},
		{oauth, brokerAdvice, report.AuthenticationFailed, []string{"clientSecret"}, `correct Secret "oauth" with key "secret"`},
		{oauth, brokerAdvice, report.AuthenticationFailed, []string{"tokenEndpoint"}, "the token endpoint does not give out a token"},
		{oauth, brokerAdvice, report.CredentialsMissing, []string{"tokenCA"}, `ConfigMap "ca" with key "root.pem" is missing: create it, or correct spec.kafka.authentication.oauth.caFrom`},
		{oauth, brokerAdvice, report.CredentialsMissing, []string{"nonsense"}, "create what spec.kafka names"},
	} {
		got := adviceFor(tc.table, tc.code).say(&tc.spec, finding{slots: tc.slots, affected: 1, answered: 1})
		require.Contains(t, got, tc.want)
	}
}
