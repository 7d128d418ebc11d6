package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// CacheDir is the folder for downloads and for the data of running services: $RELAYFLEET_CACHE when that is set, else
// /var/cache/relayfleet for root and relayfleet in the user's cache folder for everybody else.
func CacheDir() (string, error) {
	if dir := os.Getenv("RELAYFLEET_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/cache/relayfleet", nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache folder (set RELAYFLEET_CACHE): %w", err)
	}
	return filepath.Join(dir, "relayfleet"), nil
}

// Cached returns the folder name in the cache and has fill make it when it is not there. Several processes may ask at
// once: one fills, the others wait. A folder that is there is complete, because fill writes to another one that is
// renamed at the end.
func Cached(ctx context.Context, name string, fill func(ctx context.Context, dir string) error) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if exists(dir) {
		return dir, nil
	}
	partial := dir + ".partial"
	unlock, err := lockDir(ctx, partial)
	if err != nil {
		return "", fmt.Errorf("make %s: %w", dir, err)
	}
	defer unlock()
	defer func() { _ = os.RemoveAll(partial) }() // The next try clears it too.
	if exists(dir) {
		return dir, nil
	}
	content := filepath.Join(partial, "content")
	if err := os.RemoveAll(content); err != nil {
		return "", fmt.Errorf("clear what an earlier try left: %w", err)
	}
	if err := os.Mkdir(content, 0o755); err != nil {
		return "", err
	}
	if err := fill(ctx, content); err != nil {
		return "", err
	}
	if err := readableByAll(content); err != nil {
		return "", err
	}
	return dir, os.Rename(content, dir)
}

// readableByAll undoes a strict umask, because PostgreSQL runs as another user than the one who downloads it.
func readableByAll(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		mode := info.Mode().Perm() | 0o444
		if entry.IsDir() || mode&0o100 != 0 {
			mode |= 0o111
		}
		return os.Chmod(path, mode)
	})
}

// lockDir makes dir if needed and holds an exclusive lock on it until unlock is called. The lock ends with the process
// and leaves no lock file: removing the folder is all it takes.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	for {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		f, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := waitForLock(ctx, f); err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", dir, err)
		}
		// Whoever held the lock before may have removed the folder; then the lock is on something that no path names.
		if sameFile(f, dir) {
			return func() { f.Close() }, nil
		}
		f.Close()
	}
}

func waitForLock(ctx context.Context, f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil || (!errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR)) {
			return err
		}
		if err := Sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("another process holds it: %w", err)
		}
	}
}

func sameFile(f *os.File, path string) bool {
	held, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(held, named)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
