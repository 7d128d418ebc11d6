package progress

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestStepsStopAtTheFirstFailureAndExplainIt(t *testing.T) {
	log := filepath.Join(t.TempDir(), "build.log")
	require.NoError(t, os.WriteFile(log, []byte("first\nthe reason\n"), 0o644))
	var out bytes.Buffer
	err := New(&out).Run(context.Background(),
		Step{Name: "Fetch", Do: func(context.Context, *At) error { return nil }},
		Step{
			Name: "Build", Expect: 90 * time.Second, Log: log, Advice: "run it again",
			Do: func(context.Context, *At) error { return errors.New("exit status 1") },
		},
		Step{Name: "Never", Do: func(context.Context, *At) error { panic("reached") }},
	)
	require.EqualError(t, err, "Build: exit status 1")
	require.Contains(t, out.String(), "==> Build (expected: up to 1m30s)")
	require.Contains(t, out.String(), "| the reason")
	require.Contains(t, out.String(), "to go on: run it again")
}

func TestSeeLogWinsOverTheStepsLog(t *testing.T) {
	require.Equal(t, "kubelet.log", logOf(Step{Log: "other.log"}, SeeLog(errors.New("ended"), "kubelet.log")))
	require.Equal(t, "other.log", logOf(Step{Log: "other.log"}, errors.New("ended")))
	require.NoError(t, SeeLog(nil, "kubelet.log"))
}

func TestBarIsDrawnOnlyOverKnownPieces(t *testing.T) {
	at := &At{began: time.Now()}
	require.Contains(t, at.String(), "running for")
	at.Of(4, "packages")
	at.Done()
	require.Contains(t, at.String(), "[######..................] 1 of 4 packages")
	for range 9 { // a count that was too low never draws past the end
		at.Done()
	}
	require.Contains(t, at.String(), "[########################] 4 of 4 packages")
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte("a\nb\nc\n"), 0o644))
	require.Equal(t, []string{"b", "c"}, Tail(path, 2))
	require.Equal(t, []string{"a", "b", "c"}, Tail(path, 9))
	require.Contains(t, Tail(path+".none", 2)[0], "no such file")
}
