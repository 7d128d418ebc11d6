package admin

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// minIterations is the least that Kafka accepts.
const minIterations = 4096

// SetScramUser makes a user for one of the SCRAM mechanisms, or changes the password of one.
func (c Cluster) SetScramUser(mechanism, name, password string) error {
	kind := sarama.SCRAM_MECHANISM_SHA_256
	if mechanism == sarama.SASLTypeSCRAMSHA512 {
		kind = sarama.SCRAM_MECHANISM_SHA_512
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // It never fails.
	user := sarama.AlterUserScramCredentialsUpsert{
		Name: name, Mechanism: kind, Iterations: minIterations, Salt: salt, Password: []byte(password),
	}
	return c.withAdmin(func(admin sarama.ClusterAdmin) error {
		results, err := admin.UpsertUserScramCredentials([]sarama.AlterUserScramCredentialsUpsert{user})
		if err != nil {
			return fmt.Errorf("set user %s: %w", name, err)
		}
		for _, result := range results {
			if !errors.Is(result.ErrorCode, sarama.ErrNoError) {
				return fmt.Errorf("set user %s: %w", name, result.ErrorCode)
			}
		}
		return nil
	})
}
