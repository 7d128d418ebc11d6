package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/relayfleet/relayfleet/hack/service"
)

func TestTheTimesOfAProcessAndOfItsReapedChildrenAreAdded(t *testing.T) {
	stat := "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3000 400 20 0 1 0 99 0 0"
	used, err := parseTime(stat)
	require.NoError(t, err)
	require.Equal(t, 3520*tick, used)
	_, err = parseTime("7 (a) S 1")
	require.Error(t, err)
	_, err = parseTime("")
	require.Error(t, err)
}

func TestAFamilysTimeOutlivesItsChildren(t *testing.T) {
	self, err := service.Find(os.Getpid())
	require.NoError(t, err)
	before, err := familyTime(self)
	require.NoError(t, err)
	const busy = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"
	require.NoError(t, exec.CommandContext(context.Background(), "sh", "-c", busy).Run())
	after, err := familyTime(self)
	require.NoError(t, err)
	require.Greater(t, after-before, 5*tick, "the child's time has gone to its parent")
	require.Less(t, after-before, time.Minute)
}
