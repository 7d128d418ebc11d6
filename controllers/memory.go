package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/scaling"
)

// memory is what the leader remembers between two passes. What must survive it
// (the size, the time of the last change) is in status too.
type memory struct {
	mu     sync.Mutex
	tracks map[types.NamespacedName]*track
}

// track is the memory of one resource. The queue never runs two passes for one
// resource at once, so it needs no lock of its own.
type track struct {
	uid types.UID
	// started is set once size and last change were taken over from status.
	started bool
	// desired is the size that was decided last; 0 is none yet.
	desired int32
	history scaling.History
	// templateGeneration is the Deployment's generation when its template last
	// changed: later ones only changed the size.
	templateGeneration int64
	// monitoring is nil until a PodMonitor was made sure of, or its absence.
	monitoring *monitoring

	// status is what was written last, and statusVersion the resource's version
	// after that: the cache may still show an older one.
	status        *v1alpha1.OutboxRelayStatus
	statusVersion string
	writtenAt     time.Time
}

// of returns the memory of the resource, which is empty for one that was deleted
// and made again.
func (m *memory) of(key types.NamespacedName, uid types.UID) *track {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, known := m.tracks[key]
	if !known || t.uid != uid {
		t = &track{uid: uid}
		m.tracks[key] = t
	}
	return t
}

func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.tracks, key)
}

// newestStatus is the newer of what the cache shows and what was written last.
func (t *track) newestStatus(relay *v1alpha1.OutboxRelay) v1alpha1.OutboxRelayStatus {
	if t.status == nil {
		return *relay.Status.DeepCopy()
	}
	order, err := resourceversion.CompareResourceVersion(relay.ResourceVersion, t.statusVersion)
	if err == nil && order < 0 {
		return *t.status.DeepCopy()
	}
	return *relay.Status.DeepCopy()
}
