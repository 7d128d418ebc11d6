package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// removeSharedMemory removes the small System V segment that a killed server leaves behind. PostgreSQL would do that at
// its next start, but there may be none.
func removeSharedMemory(dataDir string) error {
	text, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	const keyAndID = 6
	lines := strings.Split(string(text), "\n")
	if len(lines) <= keyAndID {
		return nil
	}
	fields := strings.Fields(lines[keyAndID])
	if len(fields) != 2 {
		return nil
	}
	id, err := strconv.Atoi(fields[1])
	if err != nil {
		return fmt.Errorf("read postmaster.pid: %w", err)
	}
	return removeSegment(id, fields[0])
}

// removeSegment removes the segment if it is still the one with that key and nobody uses it.
func removeSegment(id int, key string) error {
	var segment unix.SysvShmDesc
	_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &segment)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIDRM) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at shared memory segment %d: %w", id, err)
	}
	if strconv.FormatUint(uint64(uint32(segment.Perm.Key)), 10) != key || segment.Nattch > 0 {
		return nil
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil {
		return fmt.Errorf("remove shared memory segment %d: %w", id, err)
	}
	return nil
}
