package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/relayfleet/relayfleet/hack/service"
)

// reachable refuses a folder that user cannot enter, in better words than initdb's.
func reachable(dir string, user *service.User) error {
	if user == nil {
		return nil
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		owned := ok && int(owner.Uid) == user.UID
		if info.Mode().Perm()&0o001 == 0 && !owned {
			return fmt.Errorf("PostgreSQL runs as user id %d, which cannot enter %s: set RELAYFLEET_CACHE to a folder that everybody can enter", user.UID, dir)
		}
	}
	return nil
}

func (s *Server) makeOwned(dir string, user *service.User) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return user.Give(dir)
}

// environment is all that the programs of PostgreSQL get, so that a caller's PGDATA or PGPORT means nothing to them.
func environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=/"}
}
