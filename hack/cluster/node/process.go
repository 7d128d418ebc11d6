package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is a started component. A pid alone may since belong to another
// program, a pid with its start time never does.
type process struct {
	Name    string `json:"name"`
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

// alive is false for a zombie: nobody may be there to reap an orphan.
func (p process) alive() bool {
	state, started, err := stat(p.PID)
	return err == nil && started == p.Started && state != "Z"
}

// stat reads a process's state and start time (in ticks since boot).
func stat(pid int) (state, started string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", "", err
	}
	// The program's name, in brackets, may itself hold brackets and spaces.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 {
		return "", "", fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}
	return fields[0], fields[19], nil
}

// start runs a component in the network namespace, detached from this process.
// nsenter, not `ip netns exec`: that one mounts another /sys, which hides the
// cgroups.
func start(c component, log string, path string) (process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return process{}, err
	}
	defer out.Close()
	cmd := exec.Command("nsenter", slices.Concat([]string{"--net=" + namespaceFile(), c.program}, c.args)...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), "PATH="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process{}, fmt.Errorf("start %s: %w", c.name, err)
	}
	_, started, err := stat(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // reaps it if it dies while we run
	return process{Name: c.name, PID: cmd.Process.Pid, Started: started}, err
}

// end stops processes: politely, then for sure. A grace of 0 leaves out the
// first.
func end(ctx context.Context, pids []int, grace time.Duration) {
	if grace > 0 {
		signalAll(pids, unix.SIGTERM)
	}
	if !waitGone(ctx, pids, grace) {
		signalAll(pids, unix.SIGKILL)
		waitGone(ctx, pids, 10*time.Second)
	}
}

func signalAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = unix.Kill(pid, sig)
	}
}

func waitGone(ctx context.Context, pids []int, limit time.Duration) bool {
	gone := func() bool {
		return !slices.ContainsFunc(pids, func(pid int) bool {
			state, _, err := stat(pid)
			return err == nil && state != "Z"
		})
	}
	return until(ctx, limit, gone)
}

// until polls a condition ten times a second.
func until(ctx context.Context, limit time.Duration, met func() bool) bool {
	deadline := time.Now().Add(limit)
	for !met() {
		if time.Now().After(deadline) {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return true
}

// ours lists every process of a node: of its network namespace, and of its
// pods' cgroups (a pod has a network namespace of its own).
func ours(namespaceInode uint64) []int {
	var pids []int
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if state, _, _ := stat(pid); err != nil || pid == os.Getpid() || state == "Z" {
			continue
		}
		if inNamespace(pid, namespaceInode) || inCgroup(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func inNamespace(pid int, namespaceInode uint64) bool {
	return namespaceInode != 0 && inode(fmt.Sprintf("/proc/%d/ns/net", pid)) == namespaceInode
}

func inCgroup(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	return err == nil && strings.Contains(string(text), ":/"+cgroup+"/")
}

// runs says whether a process runs a program of one of the folders.
func runs(pid int, folders []string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && withinAny(exe, folders)
}
