package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

// tick is the unit of processor time in /proc: USER_HZ, which Linux fixes at 100
// towards programs.
const tick = 10 * time.Millisecond

// usage is the processor time that somebody has used so far.
type usage struct{ relay, database, broker time.Duration }

func (u usage) since(before usage) usage {
	return usage{u.relay - before.relay, u.database - before.database, u.broker - before.broker}
}

// familyTime is the processor time of a process, of its children, and of those
// that have ended: a PostgreSQL server is one process with a child per session.
// The parent is read first, so that a child that ends meanwhile counts once at
// most.
func familyTime(p service.Process) (time.Duration, error) {
	total, err := processTime(p.PID)
	if err != nil {
		return 0, err
	}
	children, err := p.Children()
	if err != nil {
		return 0, fmt.Errorf("find the children of process %d: %w", p.PID, err)
	}
	for _, child := range children {
		if used, err := processTime(child.PID); err == nil { // One that has ended is the parent's.
			total += used
		}
	}
	return total, nil
}

// processTime is the processor time of a process and of the children that it has
// reaped.
func processTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return parseTime(string(text))
}

// parseTime adds the fields utime, stime, cutime and cstime of /proc/PID/stat.
func parseTime(stat string) (time.Duration, error) {
	// The program's name is in brackets and may itself hold spaces and brackets.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const utime, cstime = 11, 14
	if len(fields) <= cstime {
		return 0, fmt.Errorf("read the processor time: %q is no stat of a process", stat)
	}
	var ticks int64
	for _, field := range fields[utime : cstime+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * tick, nil
}

// ownTime is the processor time of this program.
func ownTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}

// maxResident is the most memory, in bytes, that a running process has had.
func maxResident(pid int) (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the memory: %w", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	if _, err := fmt.Sscan(rest, &kibibytes); err != nil {
		return 0, fmt.Errorf("read the memory of process %d: %w", pid, err)
	}
	return kibibytes << 10, nil
}
