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
var ErrNoJava = errors.New("Kafka needs Java (Debian: default-jre-headless) and Maven (Debian: maven)")

//go:embed pom.xml
var pom []byte

// libraries returns the folder of a version's jars, fetched once by Maven.
func libraries(ctx context.Context, version string, steps service.Steps) (string, error) {
	if err := needProgram("java"); err != nil {
		return "", err
	}
	return service.Cached(ctx, "kafka-"+version, func(ctx context.Context, dir string) error {
		return steps.Do("fetch Kafka "+version+" by Maven", 20*time.Second, func() error { return fetch(ctx, dir, version) })
	})
}

func needProgram(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%w: %s is missing", ErrNoJava, program)
	}
	return nil
}

func fetch(ctx context.Context, dir, version string) error {
	if err := needProgram("mvn"); err != nil {
		return err
	}
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

// java is the command line of one of Kafka's classes. What the virtual machine unpacks or records goes to temporary or
// nowhere: a killed one would leave it in the system's folder for good.
func java(libraries, temporary, heap, class string, args ...string) []string {
	line := []string{
		"java", "-Xms128m", "-Xmx" + heap, "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Djava.io.tmpdir=" + temporary,
		"-cp", filepath.Join(libraries, "*"), class,
	}
	return append(line, args...)
}
