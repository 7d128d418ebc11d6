package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Command is a program to run in the background.
type Command struct {
	// Args is the program and its arguments.
	Args []string
	// Dir is its working folder.
	Dir string
	// Env is its whole environment; nil means the caller's.
	Env []string
	// LogFile gets standard output and standard error, appended.
	LogFile string
	// Netns is the network namespace to run in; empty means the caller's.
	Netns string
	// User runs it; nil means the caller.
	User *User
	// DeathSignal reaches the process when the caller's ends, however that ends; zero lets it live on.
	DeathSignal syscall.Signal
}

// User is whom a process runs as.
type User struct{ UID, GID int }

// Process is a process that is recognised even after its id was given to another one.
type Process struct {
	PID int `json:"pid"`
	// StartTicks is when it started, in clock ticks since the machine's boot.
	StartTicks uint64 `json:"startTicks"`
	// Boot names that boot.
	Boot string `json:"boot"`
}

// Start runs the command in a session of its own, so no terminal's signal reaches it, and returns at once.
func Start(command Command) (Process, error) {
	log, err := os.OpenFile(command.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return Process{}, err
	}
	defer log.Close()
	cmd := exec.Command(command.Args[0], command.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = command.Dir, command.Env, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: command.DeathSignal}
	cmd.SysProcAttr.Credential = command.User.credential()
	started := make(chan error)
	onSpareThread(func() { runAndReap(cmd, command.Netns, started) })
	if err := <-started; err != nil {
		return Process{}, fmt.Errorf("start %s: %w", filepath.Base(command.Args[0]), err)
	}
	return Find(cmd.Process.Pid)
}

// runAndReap starts cmd and reaps it when it ends. The calling thread is the process's parent: it may sit in a network
// namespace without affecting anybody else, and it has to stay, because the kernel sends a death signal when the thread
// that started the process ends, not when the whole program does.
func runAndReap(cmd *exec.Cmd, netns string, started chan<- error) {
	if err := enter(netns); err != nil {
		started <- err
		return
	}
	err := cmd.Start()
	started <- err
	if err == nil {
		_ = cmd.Wait()
	}
}

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(u.UID), Gid: uint32(u.GID)}
}

// Run runs a short program to its end and returns an error that holds the last lines of what it printed. It is killed
// when ctx ends or the caller's process does.
func Run(ctx context.Context, user *User, dir string, env []string, args ...string) error {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: user.credential()}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	output, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return fmt.Errorf("%s: %w: %s", filepath.Base(args[0]), err, strings.Join(lines[max(0, len(lines)-15):], "\n"))
}

// Find recognises a running process by its id.
func Find(pid int) (Process, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Process{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Process{}, err
	}
	return Process{PID: pid, StartTicks: stat.startTicks, Boot: strings.TrimSpace(string(boot))}, nil
}

// Alive tells whether exactly this process still runs; one that ended and was not reaped does not.
func (p Process) Alive() bool {
	if p.PID <= 0 {
		return false
	}
	now, err := Find(p.PID)
	if err != nil || now != p {
		return false
	}
	stat, err := readStat(p.PID)
	return err == nil && stat.state != "Z" && stat.state != "X"
}

// Signal sends a signal to exactly this process; a process that is gone is no error.
func (p Process) Signal(signal syscall.Signal) error {
	if !p.Alive() {
		return nil
	}
	if err := syscall.Kill(p.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", p.PID, err)
	}
	return nil
}

// End sends signal, waits for grace, and kills what is left then.
func (p Process) End(ctx context.Context, signal syscall.Signal, grace time.Duration) error {
	if err := p.Signal(signal); err != nil {
		return err
	}
	patient, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if p.wait(patient) == nil {
		return nil
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	// Not under ctx: whoever lost patience still wants to know that nothing is left.
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if p.wait(last) != nil {
		return fmt.Errorf("process %d is still there 30 s after SIGKILL", p.PID)
	}
	return nil
}

func (p Process) wait(ctx context.Context) error {
	for p.Alive() {
		if err := Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// Children lists the processes that p started and that still run.
func (p Process) Children() ([]Process, error) {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var children []Process
	for _, entry := range entries {
		pid, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		stat, err := readStat(pid)
		if err != nil || stat.parent != p.PID {
			continue
		}
		if child, err := Find(pid); err == nil {
			children = append(children, child)
		}
	}
	return children, nil
}

type stat struct {
	state      string
	parent     int
	startTicks uint64
}

func readStat(pid int) (stat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The program's name is in brackets and may itself hold spaces and brackets.
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')'):]), " ")
	fields := strings.Fields(rest)
	const parent, startTime = 1, 19
	if len(fields) <= startTime {
		return stat{}, fmt.Errorf("process %d: cannot read its stat", pid)
	}
	s := stat{state: fields[0]}
	if s.parent, err = strconv.Atoi(fields[parent]); err != nil {
		return stat{}, err
	}
	s.startTicks, err = strconv.ParseUint(fields[startTime], 10, 64)
	return s, err
}

// Sleep waits for d or for ctx, whichever ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
