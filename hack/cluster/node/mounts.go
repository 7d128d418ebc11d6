package node

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// unmountAll unmounts everything at and under the given folders, the innermost
// first.
func unmountAll(folders ...string) error {
	var failed []error
	for range 4 { // what is mounted twice at one place shows once a round
		points, err := mountsUnder(folders)
		if err != nil {
			return err
		}
		if len(points) == 0 {
			return nil
		}
		failed = failed[:0]
		for _, point := range points {
			if err := unix.Unmount(point, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
				failed = append(failed, fmt.Errorf("unmount %s: %w", point, err))
			}
		}
	}
	return errors.Join(failed...)
}

// mountsUnder lists mount points, the innermost and newest first.
func mountsUnder(folders []string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		point := unescape(strings.Fields(lines.Text())[4])
		if slices.ContainsFunc(folders, func(folder string) bool { return within(point, folder) }) {
			points = append(points, point)
		}
	}
	slices.Reverse(points)
	return points, lines.Err()
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// unescape undoes the kernel's octal escapes of blanks in mount points.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
