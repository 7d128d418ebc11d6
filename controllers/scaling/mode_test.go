package scaling

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestByHand(t *testing.T) {
	t.Parallel()
	advice := Decision{Desired: 4, Recommended: 4, Reason: BacklogOverTarget}
	for name, tc := range map[string]struct {
		current  int32
		replicas *int32
		want     Decision
	}{
		"what is written counts, also over the maximum": {2, new(int32(50)), Decision{
			Desired: 50, Recommended: 4, Reason: Manual,
			Message: "scaling mode Manual: spec.replicas is 50; mode Auto would have 4 (BacklogOverTarget)",
		}},
		"nothing written keeps the size": {4, nil, Decision{
			Desired: 4, Recommended: 4, Reason: Manual, Message: "scaling mode Manual without spec.replicas: 4 relays",
		}},
		"a fleet that was suspended has one relay": {0, nil, Decision{
			Desired: 1, Recommended: 4, Reason: Manual,
			Message: "scaling mode Manual without spec.replicas: 1 relays; mode Auto would have 4 (BacklogOverTarget)",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tc.want, ByHand(tc.current, tc.replicas, advice))
		})
	}
}
