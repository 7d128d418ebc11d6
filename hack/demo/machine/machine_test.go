package machine

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func missing(names ...string) Found {
	f := Found{Root: true, Debian: true}
	for _, name := range names {
		f.Parts = append(f.Parts, Part{Name: name, Package: "the-" + name, Cost: "something is lost"})
	}
	return f
}

func TestWhatIsMissingSaysWhatItCosts(t *testing.T) {
	var out strings.Builder
	Found{Parts: []Part{{Name: "Go", Found: "go1.26"}, {Name: "Java", Cost: "an embedded broker"}}}.Print(&out)
	require.Contains(t, out.String(), "go1.26")
	require.Contains(t, out.String(), "missing: an embedded broker")
}

func TestInstallNamesThePackagesFirstAndAsksNobodyWhereItMayNot(t *testing.T) {
	for name, tc := range map[string]struct {
		found   Found
		install string
		want    string
		asked   bool
	}{
		"as root on Debian": {missing("java"), "", "installed now: the-java", true},
		"forbidden":         {missing("java"), "0", "INSTALL=0 forbids to install it; run: apt-get install", false},
		"not root":          {Found{Debian: true, Parts: missing("java").Parts}, "", "run: sudo apt-get install", false},
		"not Debian":        {Found{Root: true, Parts: missing("java").Parts}, "", "other than Debian's kind", false},
		"nothing missing":   {Found{Root: true, Debian: true}, "", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("INSTALL", tc.install)
			var out strings.Builder
			asked := false
			err := tc.found.Install(context.Background(), &out, func(context.Context, []string) error { asked = true; return nil })
			require.NoError(t, err)
			require.Contains(t, out.String(), tc.want)
			require.Equal(t, tc.asked, asked)
		})
	}
}
