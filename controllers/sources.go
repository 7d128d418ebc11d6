package controllers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
)

// The words by which a report says which of the files is meant.
const (
	slotURI           = "uri"
	slotCA            = "ca"
	slotCertificate   = "certificate"
	slotKey           = "key"
	slotUsername      = "username"
	slotPassword      = "password"
	slotClientSecret  = "clientSecret"
	slotTokenCA       = "tokenCA"
	slotTokenEndpoint = "tokenEndpoint"
)

// credentialFile is where a file of credentials comes from: the object and the key in
// it, and the field of the spec that names them.
type credentialFile struct{ object, field string }

// databaseSources are those of the database by the words of a report.
func databaseSources(spec *v1alpha1.OutboxRelaySpec) map[string]credentialFile {
	all := map[string]credentialFile{slotURI: {uriSource(spec), "spec.database.uriFrom"}}
	addCertificates(all, spec.Database.TLS.CAFrom, spec.Database.TLS.ClientCertificateFrom, "spec.database.tls")
	return all
}

// brokerSources are those of the broker.
func brokerSources(spec *v1alpha1.OutboxRelaySpec) map[string]credentialFile {
	all := map[string]credentialFile{}
	if t := spec.Kafka.TLS; t != nil {
		addCertificates(all, t.CAFrom, t.ClientCertificateFrom, "spec.kafka.tls")
	}
	a := spec.Kafka.Authentication
	if a == nil {
		return all
	}
	const field = "spec.kafka.authentication"
	addSecret(all, slotUsername, a.UsernameFrom, field+".usernameFrom")
	addSecret(all, slotPassword, a.PasswordFrom, field+".passwordFrom")
	if a.OAuth != nil {
		addSecret(all, slotClientSecret, &a.OAuth.ClientSecretFrom, field+".oauth.clientSecretFrom")
		if object := certificateObject(a.OAuth.CAFrom); object != "" {
			all[slotTokenCA] = credentialFile{object, field + ".oauth.caFrom"}
		}
	}
	return all
}

func addSecret(all map[string]credentialFile, slot string, from *v1alpha1.SecretSource, field string) {
	if from != nil {
		all[slot] = credentialFile{objectKey("Secret", from.SecretKeyRef), field}
	}
}

func addCertificates(all map[string]credentialFile, ca *v1alpha1.CertificateSource, client *v1alpha1.ClientCertificateSource, field string) {
	if object := certificateObject(ca); object != "" {
		all[slotCA] = credentialFile{object, field + ".caFrom"}
	}
	if client != nil {
		ref := client.SecretRef
		key := func(key, unset string) string {
			return objectKey("Secret", v1alpha1.KeyReference{Name: ref.Name, Key: cmp.Or(key, unset)})
		}
		all[slotCertificate] = credentialFile{key(ref.CertificateKey, "tls.crt"), field + ".clientCertificateFrom"}
		all[slotKey] = credentialFile{key(ref.PrivateKeyKey, "tls.key"), field + ".clientCertificateFrom"}
	}
}

// certificateObject is empty where the spec names no certificates.
func certificateObject(ca *v1alpha1.CertificateSource) string {
	switch {
	case ca == nil:
		return ""
	case ca.SecretKeyRef != nil:
		return objectKey("Secret", *ca.SecretKeyRef)
	case ca.ConfigMapKeyRef != nil:
		return objectKey("ConfigMap", *ca.ConfigMapKeyRef)
	}
	return ""
}

// meant are the sources that the slots name, in the slots' order.
func meant(all map[string]credentialFile, slots []string) (objects, fields []string) {
	for _, slot := range slots {
		if s, ok := all[slot]; ok {
			objects, fields = append(objects, s.object), append(fields, s.field)
		}
	}
	return objects, fields
}

func brokerCredentialsMissing(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
	objects, fields := meant(brokerSources(spec), slots)
	if len(objects) == 0 {
		return "the broker's credentials are missing: create what spec.kafka names"
	}
	return fmt.Sprintf("%s is missing: create it, or correct %s", strings.Join(objects, " and "), strings.Join(fields, " and "))
}

func brokerCredentialsInvalid(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
	objects, _ := meant(brokerSources(spec), slots)
	if len(objects) == 0 {
		return "the broker's credentials cannot be read: correct what spec.kafka names"
	}
	return strings.Join(objects, " and ") + " cannot be read: certificates and keys are PEM and belong together, passwords are text"
}

func brokerRefusesLogin(spec *v1alpha1.OutboxRelaySpec, slots []string) string {
	if objects, _ := meant(brokerSources(spec), slots); len(objects) > 0 {
		return "the token endpoint refuses the client: correct " + strings.Join(objects, " and ")
	}
	if slices.Contains(slots, slotTokenEndpoint) {
		return "the token endpoint does not give out a token: check spec.kafka.authentication.oauth"
	}
	if spec.Kafka.Authentication == nil {
		return "the broker refuses the connection's user: let " + servers(spec) + " allow it, or write spec.kafka.authentication"
	}
	return servers(spec) + " refuses user or password: correct what spec.kafka.authentication names"
}
