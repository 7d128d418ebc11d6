package publish

import (
	"errors"
	"regexp"
	"strconv"

	"github.com/xdg-go/scram"
)

// newScramClient keeps user and password as they are: Kafka does not prepare
// them as RFC 4013 says either.
func newScramClient(mechanism Mechanism, m material) (*scram.Client, error) {
	hash := scram.SHA256
	if mechanism == ScramSHA512 {
		hash = scram.SHA512
	}
	client, err := hash.NewClientUnprepped(m.username, m.password, "")
	if err != nil { // It could quote what it was given.
		return nil, &Problem{
			Code: CredentialsInvalid, Slots: []string{SlotUsername, SlotPassword}, Err: errors.New("user name or password cannot be used for SCRAM"),
		}
	}
	return client, nil
}

// conversation is one login by SCRAM, as sarama wants it. The client is shared:
// it remembers the keys that are costly to compute.
type conversation struct {
	client *scram.Client
	*scram.ClientConversation
}

// Begin ignores what it is told: the client knows it.
func (c *conversation) Begin(_, _, _ string) error {
	c.ClientConversation = c.client.NewConversation()
	return nil
}

// maxIterations bounds the work that a broker can ask for, to about a second.
// Kafka's own limit is 16384.
const maxIterations = 1 << 20

var iterations = regexp.MustCompile(`,i=([0-9]+)`)

// Step never quotes the broker.
func (c *conversation) Step(challenge string) (string, error) {
	if found := iterations.FindStringSubmatch(challenge); found != nil {
		if n, err := strconv.Atoi(found[1]); err != nil || n > maxIterations {
			return "", errNoScram
		}
	}
	response, err := c.ClientConversation.Step(challenge)
	if err != nil {
		return "", errNoScram
	}
	return response, nil
}

// errNoScram: the broker may not know the password itself.
var errNoScram = &Problem{Code: AuthenticationFailed, Err: errors.New("the broker's part of the SCRAM exchange is not right")}
