package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

const cgroupRoot = "/sys/fs/cgroup"

// cgroupParents are the folders that hold our cgroup: one per controller with
// cgroup v1, the root with v2.
func cgroupParents() []string {
	if exists(filepath.Join(cgroupRoot, "cgroup.controllers")) {
		return []string{cgroupRoot}
	}
	var parents []string
	entries, _ := os.ReadDir(cgroupRoot)
	for _, e := range entries {
		if e.IsDir() { // links name two controllers that share a folder
			parents = append(parents, filepath.Join(cgroupRoot, e.Name()))
		}
	}
	return parents
}

// createCgroups makes the parent of all pods: the kubelet wants it to be there.
func createCgroups() error {
	for _, parent := range cgroupParents() {
		if err := os.MkdirAll(filepath.Join(parent, cgroup), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// removeCgroups removes it with all that the kubelet and pods made in it.
func removeCgroups() error {
	var failed []error
	for _, parent := range cgroupParents() {
		failed = append(failed, removeTree(filepath.Join(parent, cgroup)))
	}
	return errors.Join(failed...)
}

// removeTree removes folders only: the files of a cgroup go with it.
func removeTree(top string) error {
	var folders []string
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		folders = append(folders, path)
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	slices.Reverse(folders)
	var failed []error
	for _, folder := range folders {
		failed = append(failed, os.Remove(folder))
	}
	return errors.Join(append(failed, err)...)
}
