package settings

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wide is 64 bytes in 32 letters.
var wide = strings.Repeat("é", 32)

// Each change to a valid file contradicts itself; the error starts with the key.
func TestContradictionsAreRefusedByTheirKey(t *testing.T) {
	withoutTopic := strings.Replace(minimal, "topic: orders.events\n", "", 1)
	withKafka := func(more string) string {
		return strings.Replace(minimal, `["kafka:9092"]}`, `["kafka:9092"], `+more+"}", 1)
	}
	withDatabase := func(more string) string {
		return strings.Replace(minimal, "/database/uri}", "/database/uri, "+more+"}", 1)
	}
	const oauth = "oauth: {tokenEndpoint: https://login/t, clientID: c, clientSecretFile: /f}"
	for file, key := range map[string]string{
		withoutTopic:                            "topic: is required",
		withoutTopic + "topicFrom: {column: t}": "topic: is required",
		withoutTopic + "mapping: {preset: Debezium}\ntopicFrom: {column: t}":                             "topic: is required",
		minimal + "topicFrom: {column: t, template: 'a.{b}'}":                                            "topicFrom: write only one",
		minimal + "topicFrom: {template: events}":                                                        "topicFrom.template: must have at least one {column}",
		minimal + "topicFrom: {template: 'a.{b'}":                                                        "topicFrom.template: must have at least one {column}",
		minimal + "topicFrom: {template: 'a {b}'}":                                                       "topicFrom.template: may contain only",
		minimal + "topicFrom: {template: 'a.{" + wide + "}'}":                                            "topicFrom.template: must be at most 63 bytes",
		minimal + "leaseDurationSeconds: 60\nmaxClaimSeconds: 59":                                        "maxClaimSeconds: must be 60 to 7200",
		minimal + "maxBytesInFlight: 1000":                                                               "maxBytesInFlight: must be",
		withDatabase("pooling: Statement"):                                                               "database.pooling: must be one of",
		withDatabase("tls: {certificateFile: /c}"):                                                       "database.tls: certificateFile and privateKeyFile belong together",
		withDatabase("tls: {mode: Disable, caFile: /c}"):                                                 "database.tls: certificates are not used",
		withKafka("tls: {mode: Disable}"):                                                                "kafka.tls.mode: must be one of",
		withKafka("compression: gzip"):                                                                   "kafka.compression: must be one of",
		withKafka("authentication: {type: PLAIN, username: u, passwordFile: /p}"):                        "kafka.authentication: PLAIN would send its secret readable",
		withKafka("authentication: {type: OAUTHBEARER, " + oauth + "}"):                                  "kafka.authentication: OAUTHBEARER would send its secret readable",
		withKafka("tls: {}, authentication: {type: OAUTHBEARER}"):                                        "kafka.authentication.oauth: is required",
		withKafka("tls: {}, authentication: {type: OAUTHBEARER, username: u, " + oauth + "}"):            "kafka.authentication: OAUTHBEARER takes no username",
		withKafka("authentication: {type: SCRAM-SHA-256, passwordFile: /p}"):                             "kafka.authentication: write exactly one of username",
		withKafka("authentication: {type: SCRAM-SHA-256, username: u}"):                                  "kafka.authentication.passwordFile: is required",
		withKafka("authentication: {type: SCRAM-SHA-256, username: u, passwordFile: /p, " + oauth + "}"): "kafka.authentication.oauth: is only for",
		withKafka("tls: {}, authentication: {type: OAUTHBEARER, oauth: {tokenEndpoint: 'http://login/t', clientID: c, clientSecretFile: /f}}"):            "kafka.authentication.oauth.tokenEndpoint: must be an https address",
		withKafka("tls: {}, authentication: {type: OAUTHBEARER, oauth: {tokenEndpoint: 'https://me:secret@login/t', clientID: c, clientSecretFile: /f}}"): "kafka.authentication.oauth.tokenEndpoint: must be an https address",
		withKafka("tls: {}, authentication: {type: OAUTHBEARER, oauth: {tokenEndpoint: 'https://login/t#f', clientID: c, clientSecretFile: /f}}"):         "kafka.authentication.oauth.tokenEndpoint: must be an https address",
		minimal + "mapping: {preset: Oracle}":                                                   "mapping.preset: must be one of",
		minimal + "mapping: {columns: {id: ''}}":                                                "mapping.columns.id: must not be empty",
		minimal + "mapping: {columns: {key: " + wide + "}}":                                     "mapping.columns.key: must be at most 63 bytes",
		minimal + "mapping: {columns: {key: \"a\\0b\"}}":                                        "mapping.columns.key: must not contain a NUL",
		minimal + "mapping: {statuses: {sent: ''}}":                                             "mapping.statuses.sent: must not be empty",
		minimal + "mapping: {headers: [{name: a, column: b}, {name: a, column: c}]}":            `mapping.headers[1].name: "a" is there twice`,
		minimal + "ordering: {onFailed: Skip}":                                                  "ordering.onFailed: is only for",
		minimal + "ordering: {mode: Key}\npriority: {enabled: true}":                            "priority.enabled: contradicts ordering.mode Key",
		minimal + "ordering: {mode: Key}\nmapping: {preset: Token}":                             "ordering.mode: Key needs a number",
		minimal + "ordering: {mode: Key}\nmapping: {preset: Debezium, columns: {sequence: ''}}": "ordering.mode: Key needs a number",
		minimal + "priority: {oldestPercent: 10}":                                               "priority.oldestPercent: is only for",
		minimal + "priority: {enabled: true, oldestPercent: 51}":                                "priority.oldestPercent: must be 1 to 50",
		minimal + "retention: {sentSeconds: 3600}":                                              "retention: sentSeconds and statuses are only for policy Delete",
		minimal + "retention: {policy: Delete, sentSeconds: 59}":                                "retention.sentSeconds: must be 60",
		minimal + "retention: {policy: Delete}\nmapping: {preset: StatusCodes}":                 "retention.statuses: is required",
		minimal + "mapping: {columns: {id: status}}":                                            `mapping.columns: id and status are both "status"`,
		minimal + "mapping: {columns: {attempts: lease_until}}":                                 `mapping.columns: attempts and leaseUntil are both`,
		minimal + "mapping: {preset: Lab, columns: {attempts: generation}}":                     `mapping.columns: generation and attempts are both`,
		minimal + "mapping: {columns: {generation: '', claimToken: ''}}":                        "mapping.columns: map generation or claimToken",
		minimal + "mapping: {preset: Lab, statuses: {inProgress: ''}}":                          "mapping.columns.claimToken: must be mapped",
		minimal + "mapping: {statuses: {sent: READY}}":                                          `mapping.statuses: ready and sent are both "READY"`,
		minimal + "mapping: {statuses: {sent: " + wide + "}}":                                   "mapping.statuses.sent: must be at most 63 bytes",
		minimal + "mapping: {statuses: {sent: \"a\\0b\"}}":                                      "mapping.statuses.sent: must not contain a NUL",
		minimal + "retention: {policy: Delete, statuses: [FAILED]}":                             `retention.statuses: rows with status "FAILED" are not done`,
		minimal + "retention: {policy: Delete, statuses: [SENT, SENT]}":                         `retention.statuses[1]: "SENT" is there twice`,
		minimal + "retention: {policy: Delete, statuses: [" + wide + "]}":                       "retention.statuses[0]: must be at most 63 bytes",
		minimal + "retention: {policy: Delete, statuses: ['']}":                                 "retention.statuses[0]: is required",
		withDatabase("tls: {mode: Require, caFile: /c}"):                                        "database.tls: caFile is not used with mode Require",
		withKafka("tls: {mode: Require, caFile: /c}"):                                           "kafka.tls: caFile is not used with mode Require",
		strings.Replace(minimal, "kafka:9092", "kafka:+9092", 1):                                "kafka.bootstrapServers[0]: must be host:port",
		strings.Replace(minimal, "kafka:9092", "a b:9092", 1):                                   "kafka.bootstrapServers[0]: must be host:port",
		strings.Replace(minimal, "kafka:9092", "kafka:09092", 1):                                "kafka.bootstrapServers[0]: must be host:port",
		minimal + "wakeUp: {mode: Notify}":                                                      "wakeUp.channel: is required",
		minimal + "wakeUp: {channel: c}":                                                        "wakeUp.channel: is only for",
		withDatabase("pooling: Transaction") + "wakeUp: {mode: Notify, channel: c}":             "wakeUp.mode: Notify contradicts",
	} {
		_, err := Parse([]byte(file))
		require.ErrorContains(t, err, key, file)
		require.NotContains(t, err.Error(), "secret@", "no credentials in an error")
	}
}

func TestTemplatesOfDotsAndColumnsAlone(t *testing.T) {
	for _, template := range []string{"{a}", "{a}.{b}", ".{a}", "{a}..{b}", "outbox.event.{aggregatetype}", "{Ärger im Namen}"} {
		_, err := Parse([]byte(minimal + "topicFrom: {template: '" + template + "'}"))
		require.NoError(t, err, template)
	}
}
