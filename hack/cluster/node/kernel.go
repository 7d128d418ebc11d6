package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// kernelSettings are the host's settings that a kubelet changes when it starts.
var kernelSettings = []string{
	"vm/overcommit_memory",
	"vm/panic_on_oom",
	"kernel/panic",
	"kernel/panic_on_oops",
	"kernel/keys/root_maxkeys",
	"kernel/keys/root_maxbytes",
}

func readKernel() map[string]string {
	values := map[string]string{}
	for _, name := range kernelSettings {
		if text, err := os.ReadFile(filepath.Join("/proc/sys", name)); err == nil {
			values[name] = strings.TrimSpace(string(text))
		}
	}
	return values
}

// restoreKernel puts back what differs.
func restoreKernel(before map[string]string) error {
	now := readKernel()
	var failed []error
	for name, value := range before {
		if now[name] != value {
			failed = append(failed, os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0o644))
		}
	}
	return errors.Join(failed...)
}
