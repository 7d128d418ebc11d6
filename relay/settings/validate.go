package settings

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// maxIdentifier is PostgreSQL's limit for a name, in bytes: a longer one would
// be cut, and then name something else.
const maxIdentifier = 63

// maxClaimSeconds bounds MaxClaimSeconds.
const maxClaimSeconds = 7200

// validate returns every problem at once, each with the path of its key.
func (s Settings) validate() error {
	var p problems
	p.check(s.Version == Version, "version", "must be %d, not %d", Version, s.Version)
	p.identifier("table.schema", s.Table.Schema)
	p.identifier("table.name", s.Table.Name)
	p.destination(s)
	between(&p, "leaseDurationSeconds", s.LeaseDurationSeconds, 5, 3600)
	between(&p, "batchSize", s.BatchSize, 1, 10000)
	between(&p, "maxClaimSeconds", s.MaxClaimSeconds, s.LeaseDurationSeconds, maxClaimSeconds)
	between(&p, "maxBytesInFlight", s.MaxBytesInFlight, 1<<20, 1<<30)
	p.database(s.Database)
	p.kafka(s.Kafka)
	p.mapping(s.Mapping)
	p.behaviour(s)
	p.retry(s.Retry)
	return errors.Join(p...)
}

type problems []error

func (p *problems) check(ok bool, path, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s: %s", path, fmt.Sprintf(format, args...)))
	}
}

func between[T int | int64](p *problems, path string, value, low, high T) {
	p.check(value >= low && value <= high, path, "must be %d to %d, not %d", low, high, value)
}

func (p *problems) identifier(path, value string) {
	p.check(value != "", path, "is required")
	p.name(path, value)
}

// name is an identifier, or a value of a column, or empty.
func (p *problems) name(path, value string) {
	p.check(len(value) <= maxIdentifier, path, "must be at most %d bytes long", maxIdentifier)
	p.check(!strings.ContainsRune(value, 0), path, "must not contain a NUL byte")
}

// maxTopic is Kafka's limit for a topic's name.
const maxTopic = 249

// topic holds Kafka's own rules for a name.
func (p *problems) topic(path, value string) {
	p.check(value != "", path, "is required")
	p.check(len(value) <= maxTopic, path, "must be at most %d characters long", maxTopic)
	p.check(value != "." && value != "..", path, "must not be %q", value)
	p.topicCharacters(path, value)
}

func (p *problems) topicCharacters(path, value string) {
	legal := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)
	}
	p.check(!strings.ContainsFunc(value, func(r rune) bool { return !legal(r) }), path,
		"may contain only letters, digits, '.', '_' and '-'")
}

func (p *problems) servers(path string, servers []string) {
	p.check(len(servers) > 0, path, "is required: at least one host:port")
	p.check(len(servers) <= 20, path, "must have at most 20 entries")
	for i, address := range servers {
		p.check(len(address) <= maxServer && server.MatchString(address), fmt.Sprintf("%s[%d]", path, i), "must be host:port, not %q", address)
	}
}

// server is a name, an IPv4 address or an IPv6 address in brackets, and a port, as
// admission has it.
var server = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?|[[][0-9a-fA-F:.]+[]]):` +
	`([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$`)

// maxServer is a host name of 255 characters and its port.
const maxServer = 261

func (p *problems) retry(r Retry) {
	between(p, "retry.maxAttempts", r.MaxAttempts, 1, 1000)
	between(p, "retry.backoffSeconds", r.BackoffSeconds, 1, 86400)
	between(p, "retry.maxBackoffSeconds", r.MaxBackoffSeconds, 1, 86400)
	p.check(r.MaxBackoffSeconds >= r.BackoffSeconds, "retry.maxBackoffSeconds",
		"must not be less than retry.backoffSeconds (%d)", r.BackoffSeconds)
	if r.MaxAgeSeconds != nil {
		between(p, "retry.maxAgeSeconds", *r.MaxAgeSeconds, 0, 31536000)
	}
}
