// Package cache says where the program keeps what outlives one run.
package cache

import (
	"fmt"
	"os"
	"path/filepath"
)

// Env names the variable that moves the cache folder.
const Env = "RELAYFLEET_CACHE"

// Dir returns the cache folder: $RELAYFLEET_CACHE, else /var/cache/relayfleet
// for root, else relayfleet in the user's cache folder. It is not created.
func Dir() (string, error) {
	if dir := os.Getenv(Env); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/cache/relayfleet", nil
	}
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache folder (set %s): %w", Env, err)
	}
	return filepath.Join(user, "relayfleet"), nil
}
