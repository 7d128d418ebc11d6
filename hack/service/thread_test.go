package service

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestTheMainThreadIsNeverSpent(t *testing.T) {
	var spent sync.Map
	var all sync.WaitGroup
	for range 500 {
		all.Add(1)
		onSpareThread(func() {
			defer all.Done()
			spent.Store(unix.Gettid(), true)
		})
		runtime.Gosched()
	}
	all.Wait()
	_, found := spent.Load(os.Getpid())
	require.False(t, found)
}
