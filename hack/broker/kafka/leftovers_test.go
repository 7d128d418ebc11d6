package kafka_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/service"
)

// TestNothingOutlivesAKilledTest starts this test binary once more, as a test that starts a broker, and kills it.
func TestNothingOutlivesAKilledTest(t *testing.T) {
	const marker = "RELAYFLEET_TEST_VICTIM"
	if name := os.Getenv(marker); name != "" {
		kafka.StartForTest(t, kafka.Options{Name: name})
		select {}
	}
	name := service.TemporaryName()
	victim := exec.Command(os.Args[0], "-test.run", "^TestNothingOutlivesAKilledTest$")
	victim.Env = append(os.Environ(), marker+"="+name)
	require.NoError(t, victim.Start())
	var broker service.Process
	require.Eventually(t, func() bool {
		found, err := kafka.Find(name)
		if err != nil {
			return false
		}
		broker = found.Process(0)
		return broker.Alive()
	}, 2*time.Minute, 20*time.Millisecond)
	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())
	require.Eventually(t, func() bool { return !broker.Alive() }, time.Minute, 20*time.Millisecond)

	// Its data goes with the next start of any broker.
	c := kafka.StartForTest(t, kafka.Options{})
	_, err := kafka.Find(name)
	require.ErrorIs(t, err, service.ErrNotFound)

	// A killed virtual machine cleans up nothing, so what it unpacked has to be where Remove finds it.
	require.NoError(t, c.Admin().CreateTopic(t.Context(), admin.Topic{
		Name: "packed", Partitions: 1, Replicas: 1,
		Config: map[string]string{"compression.type": "lz4"},
	}))
	produce(t, c, "packed", "first")
	unpacked, err := filepath.Glob(filepath.Join(c.Dir(), "tmp", "*lz4*"))
	require.NoError(t, err)
	require.NotEmpty(t, unpacked)
}

func TestMissingJavaIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := kafka.Start(t.Context(), kafka.Options{})
	require.ErrorIs(t, err, kafka.ErrNoJava)
	require.ErrorContains(t, err, "java is missing")
}
