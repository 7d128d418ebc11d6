package choice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
)

func TestOf(t *testing.T) {
	root := choice.Machine{Root: true, Linux: true}
	docker := choice.Machine{Root: true, Linux: true, Docker: true}
	full := choice.Asked{
		Cluster: "existing", Kubeconfig: "k", Image: "i", DatabaseURL: "d", Brokers: "b",
	}
	for name, tc := range map[string]struct {
		asked   choice.Asked
		machine choice.Machine
		want    choice.Kind
		refused string
	}{
		"root without Docker runs the node":       {machine: root, want: choice.Node},
		"a Docker engine that answers means kind": {machine: docker, want: choice.InDocker},
		"auto is the default":                     {asked: choice.Asked{Cluster: "auto"}, machine: docker, want: choice.InDocker},
		"the node can be preferred to Docker":     {asked: choice.Asked{Cluster: "node"}, machine: docker, want: choice.Node},
		"KUBECONFIG alone means nothing":          {asked: choice.Asked{Kubeconfig: "k"}, machine: root, want: choice.Node},
		"an existing cluster with all it needs":   {asked: full, machine: choice.Machine{}, want: choice.Existing},
		"the flag means an existing cluster": {
			asked:   choice.Asked{Kubeconfig: "k", FromFlag: true, Image: "i", DatabaseURL: "d", Brokers: "b"},
			machine: docker, want: choice.Existing,
		},
		"an existing cluster without the rest is refused": {
			asked: choice.Asked{Cluster: "existing", Kubeconfig: "k", Image: "i"}, machine: root,
			refused: "an existing cluster needs KUBECONFIG, IMAGE (which it can pull), DATABASE_URL and BROKERS " +
				"(which its pods can reach); missing: DATABASE_URL, BROKERS",
		},
		"an existing cluster without a kubeconfig is refused": {
			asked:   choice.Asked{Cluster: "existing", Image: "i", DatabaseURL: "d", Brokers: "b"},
			refused: "missing: KUBECONFIG (or --kubeconfig)",
		},
		"kind without Docker is refused":     {asked: choice.Asked{Cluster: "kind"}, machine: root, refused: "`docker info` does not answer"},
		"no root and no Docker is refused":   {machine: choice.Machine{Linux: true}, refused: "the single node needs Linux and root"},
		"no Linux and no Docker is refused":  {machine: choice.Machine{Root: true}, refused: "no cluster can be started here"},
		"an unknown kind of cluster refused": {asked: choice.Asked{Cluster: "k3s"}, machine: root, refused: "CLUSTER=k3s is unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := choice.Of(tc.asked, tc.machine)
			if tc.refused != "" {
				require.ErrorContains(t, err, tc.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}
