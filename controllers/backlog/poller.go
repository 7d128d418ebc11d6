package backlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/relayfleet/relayfleet/api/v1alpha1"
	"github.com/relayfleet/relayfleet/controllers/resources"
	"github.com/relayfleet/relayfleet/relay/report"
)

const (
	// MinInterval is the least time between two questions to one fleet.
	MinInterval = 5 * time.Second
	// believedIntervals is for how many intervals an answer counts.
	believedIntervals = 3
	// tick is how often the schedule looks for fleets that are due.
	tick = 500 * time.Millisecond
	// maxQuestions bounds the questions of all fleets that are open at once,
	// maxFleetQuestions those of one: a fleet of slow relays takes a few places,
	// never all.
	maxQuestions      = 64
	maxFleetQuestions = 4
	// jitterPercent keeps fleets that were made together from being asked together.
	jitterPercent = 10
)

// Reader reads one relay's report; errors wrap the errors of this package.
type Reader interface {
	Read(ctx context.Context, address string) (report.Report, error)
}

// Options are what a Poller is made of.
type Options struct {
	// Client reads resources and pods, from a cache.
	Client client.Reader
	Reader Reader
	// Interval is the time between two questions to one fleet, at least MinInterval.
	Interval time.Duration
	Log      logr.Logger
}

// Poller asks the relays of all resources. It runs on the leader alone.
type Poller struct {
	client    client.Reader
	reader    Reader
	interval  time.Duration
	log       logr.Logger
	questions chan struct{}
	wake      chan event.TypedGenericEvent[types.NamespacedName]

	mu struct {
		sync.Mutex
		// fleets is by uid of the resource: the schedule adds and removes them,
		// the polls write their observation, reconciles read it.
		fleets map[types.UID]*fleet
	}
}

// fleet is the memory of one resource, guarded by the poller's mutex.
type fleet struct {
	due         time.Time
	polling     bool
	observation Observation
}

// New returns a poller that asks nobody before Start. Shorter intervals than
// MinInterval are refused.
func New(o Options) (*Poller, error) {
	if o.Interval < MinInterval {
		return nil, fmt.Errorf("poll interval %s: the least is %s", o.Interval, MinInterval)
	}
	p := &Poller{
		client: o.Client, reader: o.Reader, interval: o.Interval, log: o.Log,
		questions: make(chan struct{}, maxQuestions),
		wake:      make(chan event.TypedGenericEvent[types.NamespacedName]),
	}
	p.mu.fleets = map[types.UID]*fleet{}
	return p, nil
}

// MaxSampleAge is for how long an answer counts.
func (p *Poller) MaxSampleAge() time.Duration { return believedIntervals * p.interval }

// Woken carries a resource whenever there is something new about it.
func (p *Poller) Woken() <-chan event.TypedGenericEvent[types.NamespacedName] { return p.wake }

// Observation is what the relays of the resource have said lately; the zero
// value when they were never asked. It never waits for an answer.
func (p *Poller) Observation(now time.Time, resource types.UID) Observation {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.mu.fleets[resource]
	if !known {
		return Observation{}
	}
	return f.observation.fresh(now, p.MaxSampleAge())
}

// NeedLeaderElection says that only the leader asks.
func (p *Poller) NeedLeaderElection() bool { return true }

// Start asks until ctx ends, and returns when the last question has ended.
func (p *Poller) Start(ctx context.Context) error {
	var polls sync.WaitGroup
	defer polls.Wait()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		due, err := p.due(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			p.log.Error(err, "Relays were not asked this time")
		}
		for _, relay := range due {
			polls.Go(func() { p.poll(ctx, relay) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// target is the resource whose relays are to be asked.
type target struct {
	name types.NamespacedName
	uid  types.UID
	// deployment is the name that the pods' ReplicaSet begins with.
	deployment string
}

// due lists what is to be asked now, and forgets the resources that are gone.
func (p *Poller) due(ctx context.Context, now time.Time) ([]target, error) {
	var relays v1alpha1.OutboxRelayList
	if err := p.client.List(ctx, &relays, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list resources: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	present := make(map[types.UID]bool, len(relays.Items))
	var due []target
	for i := range relays.Items {
		relay := &relays.Items[i]
		present[relay.UID] = true
		f, known := p.mu.fleets[relay.UID]
		if !known {
			f = &fleet{due: now}
			p.mu.fleets[relay.UID] = f
		}
		if f.polling || now.Before(f.due) {
			continue
		}
		f.polling, f.due = true, now.Add(p.jittered())
		due = append(due, target{client.ObjectKeyFromObject(relay), relay.UID, resources.Name(relay)})
	}
	for uid := range p.mu.fleets {
		if !present[uid] {
			delete(p.mu.fleets, uid)
		}
	}
	return due, nil
}

// jittered is never longer than the interval, which three of make a sample old.
func (p *Poller) jittered() time.Duration {
	spread := p.interval * jitterPercent / 100
	return p.interval - rand.N(spread+1) //nolint:gosec // Spreading needs no secret randomness.
}

// poll asks the relays of one resource, and wakes its reconcile.
func (p *Poller) poll(ctx context.Context, t target) {
	pods, err := p.pods(ctx, t)
	if err != nil {
		p.log.Error(err, "Relays were not asked this time", "namespace", t.name.Namespace, "outboxrelay", t.name.Name)
		p.record(t, nil, nil, false)
		return
	}
	p.record(t, pods, p.ask(ctx, t, pods), true)
	select {
	case p.wake <- event.TypedGenericEvent[types.NamespacedName]{Object: t.name}:
	case <-ctx.Done():
	}
}

// pods are the running relays of the resource, ready or not: one that is not
// ready knows best what is missing.
func (p *Poller) pods(ctx context.Context, t target) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := p.client.List(ctx, &list, client.InNamespace(t.name.Namespace),
		client.MatchingLabels{resources.LabelResource: string(t.uid)})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if isRunning(&pod) && isOwn(&pod, t.deployment) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

func isRunning(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodRunning && pod.Status.PodIP != "" && pod.DeletionTimestamp.IsZero()
}

// isOwn says whether the pod belongs to the Deployment, by the name that a
// Deployment gives its ReplicaSets. Labels alone anybody can write.
func isOwn(pod *corev1.Pod, deployment string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "ReplicaSet" && owner.APIVersion == "apps/v1" &&
		owner.Name == deployment+"-"+pod.Labels["pod-template-hash"]
}

// reply is an answer or why there is none.
type reply struct {
	answer Answer
	err    error
}

// ask puts the same question to all pods, a few at a time.
func (p *Poller) ask(ctx context.Context, t target, pods []corev1.Pod) []reply {
	replies := make([]reply, len(pods))
	places := make(chan struct{}, maxFleetQuestions)
	var open sync.WaitGroup
	for i := range pods {
		places <- struct{}{}
		open.Go(func() {
			defer func() { <-places }()
			p.questions <- struct{}{}
			defer func() { <-p.questions }()
			replies[i] = p.askOne(ctx, t, &pods[i])
		})
	}
	open.Wait()
	return replies
}

func (p *Poller) askOne(ctx context.Context, t target, pod *corev1.Pod) reply {
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(resources.ReportPort))
	r, err := p.reader.Read(ctx, address)
	if err == nil && (r.Namespace != t.name.Namespace || r.Resource != string(t.uid) || r.Pod != string(pod.UID)) {
		err = ErrForeign
	}
	if err != nil {
		p.log.V(1).Info("A relay has not answered", "namespace", t.name.Namespace, "pod", pod.Name, "error", err.Error())
		return reply{err: err}
	}
	return reply{answer: Answer{Pod: pod.UID, At: time.Now(), Report: clamp(r)}}
}

// record replaces the answers of the pods that have answered and keeps, for a
// while, those of the others that are still there.
func (p *Poller) record(t target, pods []corev1.Pod, replies []reply, asked bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, known := p.mu.fleets[t.uid]
	if !known {
		return // The resource has gone meanwhile.
	}
	f.polling = false
	if !asked {
		return
	}
	before := make(map[types.UID]Answer, len(f.observation.Answers))
	for _, a := range f.observation.Answers {
		before[a.Pod] = a
	}
	next := Observation{At: time.Now(), Running: len(pods)}
	for i, r := range replies {
		if r.err == nil {
			next.Answers = append(next.Answers, r.answer)
			continue
		}
		next.Failure = kind(r.err)
		if a, had := before[pods[i].UID]; had {
			next.Answers = append(next.Answers, a)
		}
	}
	f.observation = next.fresh(next.At, p.MaxSampleAge())
}

func kind(err error) error {
	for _, k := range []error{ErrRefused, ErrMalformed, ErrForeign} {
		if errors.Is(err, k) {
			return k
		}
	}
	return ErrUnreachable
}
