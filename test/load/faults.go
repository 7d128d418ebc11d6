package load

import (
	"slices"
	"sync"
	"time"
)

// Fault is something that was done to the system on purpose.
type Fault struct {
	// Kind says what, in a word or two; Target to whom.
	Kind, Target string
	// Began and Ended are equal for what takes no time, like a kill. A fault
	// that still goes on has no end.
	Began, Ended time.Time
}

// Faults records faults. The zero value is ready; it may be used from several
// goroutines.
type Faults struct {
	mu   sync.Mutex
	list []Fault
}

// Record notes a fault of this moment.
func (f *Faults) Record(kind, target string) {
	now := time.Now()
	f.Add(Fault{Kind: kind, Target: target, Began: now, Ended: now})
}

// Begin notes a fault that lasts until end is called.
func (f *Faults) Begin(kind, target string) (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := len(f.list)
	f.list = append(f.list, Fault{Kind: kind, Target: target, Began: time.Now()})
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.list[at].Ended = time.Now()
	}
}

// Add notes a fault that somebody else has timed.
func (f *Faults) Add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, fault)
}

// List returns what was recorded, in that order.
func (f *Faults) List() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

// Duplicate is one delivery of an event that had been delivered before.
type Duplicate struct {
	EventID string
	// Earlier and Again are when the two records were sent: the record's own time.
	Earlier, Again time.Time
	// Because is the fault that explains it; its Kind is empty if none does.
	Because Fault
}

// explain finds the fault that kept the earlier delivery from being recorded.
// A relay sends within a lease of its claim and records within the same lease,
// so a fault counts only if it was there within a lease of the earlier delivery,
// and had begun before the event came again. Records tell their time in whole
// milliseconds.
func (f *Faults) explain(d Duplicate, lease time.Duration) Fault {
	from, to, again := d.Earlier.Add(-lease), d.Earlier.Add(lease), d.Again.Add(time.Millisecond)
	for _, fault := range f.List() {
		ended := fault.Ended
		if ended.IsZero() {
			ended = time.Now()
		}
		if !fault.Began.After(to) && !ended.Before(from) && fault.Began.Before(again) {
			return fault
		}
	}
	return Fault{}
}
