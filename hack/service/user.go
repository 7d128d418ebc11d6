package service

import (
	"os"
	"os/user"
	"strconv"
)

// unprivileged is the id that systems without a better user keep for nobody.
const unprivileged = 65534

// Unprivileged is whom a service runs as that refuses root: nil, the caller, unless that is root; then the user postgres or
// nobody.
func Unprivileged() *User {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			uid, uidErr := strconv.Atoi(found.Uid)
			gid, gidErr := strconv.Atoi(found.Gid)
			if uidErr == nil && gidErr == nil {
				return &User{UID: uid, GID: gid}
			}
		}
	}
	return &User{UID: unprivileged, GID: unprivileged}
}

// WriteOwned writes a file that only owner can read; nil is the caller.
func WriteOwned(file string, content []byte, owner *User) error {
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return err
	}
	return owner.Give(file)
}

// Give makes u the owner of a file or folder; nil leaves it the caller's.
func (u *User) Give(path string) error {
	if u == nil {
		return nil
	}
	return os.Chown(path, u.UID, u.GID)
}
