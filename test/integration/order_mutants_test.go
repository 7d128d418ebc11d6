//go:build verify

package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/relay/settings"
	"github.com/relayfleet/relayfleet/test/load"
	"github.com/relayfleet/relayfleet/test/relays"
)

// Without a part of either half of the order the load of the other tests finds it broken.
func TestMutantsOfTheOrderAreSeen(t *testing.T) {
	const claim, publisher = "relay/outbox/rows/claim_ordered.sql", "relay/publish/order.go"
	for name, mutant := range map[string]struct{ file, old, new string }{
		"a claim that knows no blocked key":        {claim, "WHERE b.key IS NOT NULL", "WHERE false"},
		"a claim that leaves earlier rows of keys": {claim, "OPERATOR(pg_catalog.<=) t.upto", "OPERATOR(pg_catalog.=) t.upto"},
		"a publisher that holds nothing back":      {publisher, "if !d.config.Ordered {", "if true {"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrdered(t, settings.Halt)
			o.binary = buildMutant(t, mutant.file, mutant.old, mutant.new)
			o.begin()
			o.sends.set(fates{refused: 6, rejected: 10}) // What the halves are for.
			o.replay()
			var v load.Verdict
			for until := time.Now().Add(6 * soon); v.Disordered() == 0 && time.Now().Before(until); v = o.now() {
				o.kill(0)
			}
			t.Log(v)
			require.Positive(t, v.Disordered())
		})
	}
}

// now is the verdict so far: a broken order does not wait for the end.
func (o *ordered) now() load.Verdict {
	o.t.Helper()
	v, err := o.checker().Check(o.t.Context())
	require.NoError(o.t, err)
	return v
}

// buildMutant builds the binary with one file changed in one place.
func buildMutant(t *testing.T, file, old, changed string) (binary string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", filepath.FromSlash(file)))
	require.NoError(t, err)
	source := read(t, path)
	require.Equal(t, 1, strings.Count(source, old), "%s is not the file that this test knows", file)
	dir := t.TempDir()
	mutated := filepath.Join(dir, filepath.Base(file))
	require.NoError(t, os.WriteFile(mutated, []byte(strings.Replace(source, old, changed, 1)), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	binary, err = relays.Build(t.Context(), dir, "-overlay", filepath.Join(dir, "overlay.json"))
	require.NoError(t, err)
	return binary
}
