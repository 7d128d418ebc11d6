// Package stage sets up what the demo and the end-to-end test play on: a
// Kubernetes, a PostgreSQL, a Kafka, and the operator installed from config/.
package stage

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/relayfleet/relayfleet/hack/broker/admin"
	"github.com/relayfleet/relayfleet/hack/broker/embedded"
	"github.com/relayfleet/relayfleet/hack/broker/kafka"
	"github.com/relayfleet/relayfleet/hack/database/postgres"
	"github.com/relayfleet/relayfleet/hack/service"
)

// name is that of the database and of the broker.
const name = "demo"

// Stage is what Up has set up.
type Stage struct {
	Kubectl Kubectl
	// Embedded says that the broker is not a real Kafka.
	Embedded bool
	// Brokers are the broker's addresses for this process, PodBrokers for pods.
	Brokers, PodBrokers []string
	// Image is the operator's and the relays'.
	Image string

	cluster  clusterStatus
	database *postgres.Server
	broker   *kafka.Cluster
	// external is the database of an existing cluster.
	external string
	steps    service.Steps
}

var errCannotKill = errors.New("a container of this cluster cannot be killed from here")

// Up sets everything up, or finds it set up, and says on w what it does.
func Up(ctx context.Context, w io.Writer) (*Stage, error) {
	s := &Stage{steps: service.Steps{Out: w}}
	var err error
	if s.cluster, err = startCluster(ctx, w); err != nil {
		return nil, err
	}
	s.Kubectl = Kubectl{Program: s.cluster.Kubectl, Kubeconfig: s.cluster.Kubeconfig}
	if s.cluster.Kind == "existing" {
		s.Image, s.external = os.Getenv("IMAGE"), os.Getenv("DATABASE_URL")
		s.Brokers = strings.Split(os.Getenv("BROKERS"), ",")
		s.PodBrokers = s.Brokers
	} else if err := s.startOwn(ctx, w); err != nil {
		return nil, err
	}
	return s, s.install(ctx)
}

func (s *Stage) startOwn(ctx context.Context, w io.Writer) (err error) {
	options := postgres.Options{Name: name, Netns: s.cluster.NetworkNamespace, Progress: w}
	if s.cluster.NetworkNamespace == "" {
		options.ListenAddresses = []string{service.Loopback, s.cluster.PodsReach}
		options.Hosts = []string{s.cluster.PodsReach}
	}
	if s.database, err = postgres.Start(ctx, options); err != nil {
		return fmt.Errorf("start the database: %w", err)
	}
	if err := s.startBroker(ctx, w); err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	return s.loadImage(ctx, w)
}

func (s *Stage) startBroker(ctx context.Context, w io.Writer) error {
	netns := s.cluster.NetworkNamespace
	broker, err := kafka.Start(ctx, kafka.Options{Name: name, Netns: netns, Progress: w})
	if err == nil {
		s.broker, s.Brokers, s.PodBrokers = broker, broker.Addresses(), broker.PodAddresses()
		return nil
	}
	if !errors.Is(err, kafka.ErrNoJava) {
		return err
	}
	standIn, err := embedded.Start(ctx, embedded.Options{Name: name, Netns: netns, Progress: w})
	if err != nil {
		return err
	}
	s.Embedded, s.Brokers, s.PodBrokers = true, standIn.Addresses(), standIn.Addresses()
	return nil
}

// loadImage builds the image of this source and brings it to the cluster. It is
// named by its binary's hash, so that an unchanged source rolls nothing.
func (s *Stage) loadImage(ctx context.Context, w io.Writer) error {
	cache, err := service.CacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "images")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	binary := filepath.Join(dir, "relayfleet")
	compile := func() error {
		env := append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
		return service.Run(ctx, nil, Root(), env, "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, ".")
	}
	if err := s.steps.Do("compile relayfleet", 20*time.Second, compile); err != nil {
		return err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	tag := fmt.Sprintf("%x", sha256.Sum256(data))[:12]
	s.Image = "localhost/relayfleet:" + tag
	archive := filepath.Join(dir, "relayfleet-"+tag+".tar")
	if _, err := os.Stat(archive); err != nil {
		if err := s.buildImage(ctx, dir, binary, archive); err != nil {
			return err
		}
	}
	_, err = Cluster(ctx, w, "load", s.Image, archive)
	return err
}

func (s *Stage) buildImage(ctx context.Context, dir, binary, archive string) error {
	old, err := filepath.Glob(filepath.Join(dir, "relayfleet-*.tar"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return s.steps.Do("build the image", 15*time.Second, func() error {
		return service.Run(ctx, nil, Root(), os.Environ(), filepath.Join(Root(), "hack", "image", "build"),
			"--archive", archive, "--image", s.Image, "--binary", binary)
	})
}

// install applies the operator with this image and waits until it leads.
func (s *Stage) install(ctx context.Context) error {
	return s.steps.Do("install the operator", 15*time.Second, func() error {
		manifests, err := s.Kubectl.Run(ctx, "kustomize", filepath.Join(Root(), "hack", "demo", "operator"))
		if err != nil {
			return err
		}
		if err := s.Kubectl.Apply(ctx, strings.ReplaceAll(manifests, "relayfleet:dev", s.Image)); err != nil {
			return err
		}
		_, err = s.Kubectl.Run(ctx, "rollout", "status", "deployment/relayfleet-manager", "-n", "relayfleet-system", "--timeout=180s")
		return err
	})
}

// Broker is the Kafka of this stage, to be broken on purpose; nil where another
// one stands in for it.
func (s *Stage) Broker() *kafka.Cluster { return s.broker }

// Admin makes, removes and describes the broker's topics.
func (s *Stage) Admin() admin.Cluster {
	return admin.Cluster{Addresses: s.Brokers, Netns: s.cluster.NetworkNamespace}
}

// IsUp says whether a cluster of this checkout runs.
func IsUp(ctx context.Context) bool {
	status, err := askCluster(ctx)
	return err == nil && status.Running
}

// Down ends the cluster, the database and the broker of Up. What is not there is
// not missed.
func Down(ctx context.Context, w io.Writer) error {
	var problems []error
	if b, err := embedded.Find(name); err == nil {
		problems = append(problems, b.Remove(ctx))
	}
	if b, err := kafka.Find(name); err == nil {
		problems = append(problems, b.Remove(ctx))
	}
	if d, err := postgres.Find(name); err == nil {
		problems = append(problems, d.Remove(ctx))
	}
	_, err := Cluster(ctx, w, "down")
	return errors.Join(append(problems, err)...)
}
