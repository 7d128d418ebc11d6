package postgres

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/relayfleet/relayfleet/hack/service"
)

// unprivileged is the id that systems without a better user keep for nobody.
const unprivileged = 65534

// serviceUser is whom PostgreSQL runs as, since it refuses root: the caller, or for root the user postgres or nobody.
func serviceUser() *service.User {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			uid, uidErr := strconv.Atoi(found.Uid)
			gid, gidErr := strconv.Atoi(found.Gid)
			if uidErr == nil && gidErr == nil {
				return &service.User{UID: uid, GID: gid}
			}
		}
	}
	return &service.User{UID: unprivileged, GID: unprivileged}
}

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
	return give(dir, user)
}

// writeOwned writes a file that only the user of the server can read.
func writeOwned(file string, content []byte, user *service.User) error {
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	return give(file, user)
}

func give(path string, user *service.User) error {
	if user == nil {
		return nil
	}
	return os.Chown(path, user.UID, user.GID)
}

// environment is all that the programs of PostgreSQL get, so that a caller's PGDATA or PGPORT means nothing to them.
func environment() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=/"}
}
