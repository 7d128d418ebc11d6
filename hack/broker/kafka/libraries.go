package kafka

import (
	"context"
	_ "embed" // for pom.xml
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

// ErrNoJava says that Kafka cannot be fetched or run here; the embedded broker can stand in for it.
var ErrNoJava = errors.New("Kafka needs Java (Debian: default-jre-headless) and Maven (Debian: maven)") //nolint:staticcheck // Kafka is a name.

//go:embed pom.xml
var pom []byte

// libraries returns the folder of a version's jars, fetched once by Maven.
func libraries(ctx context.Context, version string, steps service.Steps) (string, error) {
	for _, program := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%w: %s is missing", ErrNoJava, program)
		}
	}
	return service.Cached(ctx, "kafka-"+version, func(ctx context.Context, dir string) error {
		return steps.Do("fetch Kafka "+version+" by Maven", 20*time.Second, func() error { return fetch(ctx, dir, version) })
	})
}

func fetch(ctx context.Context, dir, version string) error {
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	err := service.Run(ctx, nil, dir, nil, "mvn", "-q", "-B", "-f", file, "-Dkafka.version="+version,
		"dependency:copy-dependencies", "-DoutputDirectory="+dir, "-DincludeScope=runtime")
	if err != nil {
		return fmt.Errorf("fetch Kafka %s: %w", version, err)
	}
	return nil
}

// java is the command line of one of Kafka's classes.
func java(libraries, heap, class string, args ...string) []string {
	line := []string{"java", "-Xms128m", "-Xmx" + heap, "-XX:+UseSerialGC", "-cp", filepath.Join(libraries, "*"), class}
	return append(line, args...)
}
