// Package connect runs Debezium on Kafka Connect standalone: beside the relay in
// the benchmark, and to record what the outbox event router sends.
package connect

import (
	"bytes"
	"context"
	_ "embed" // for the list of jars
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/relayfleet/relayfleet/hack/service"
)

// Version is Debezium's.
const Version = "3.6.1.Final"

// patience is how long Connect may take to start.
const patience = 2 * time.Minute

//go:embed pom.xml
var pom []byte

// Libraries are the jars, which Maven fetches once.
func Libraries(ctx context.Context, steps service.Steps) (dir string, err error) {
	dir, err = service.Cached(ctx, "debezium-"+Version, func(ctx context.Context, dir string) error {
		return steps.Do("fetch Debezium "+Version+" by Maven", time.Minute, func() error {
			list := filepath.Join(dir, "pom.xml")
			if err := os.WriteFile(list, pom, 0o644); err != nil {
				return err
			}
			return service.Run(ctx, nil, dir, nil, "mvn", "-q", "-B", "-f", list, "-Ddebezium.version="+Version,
				"dependency:copy-dependencies", "-DoutputDirectory="+dir, "-DincludeScope=runtime")
		})
	})
	if err != nil {
		return "", fmt.Errorf("fetch Debezium: %w", err)
	}
	return dir, nil
}

// Options say how to run Connect. All are required but Java.
type Options struct {
	// Libraries are those of the function Libraries.
	Libraries string
	// Dir takes the worker's settings, its offsets and its log.
	Dir string
	// Bootstrap is a broker, host:port.
	Bootstrap string
	// Worker are lines for the worker's settings beside addresses and offsets.
	Worker string
	// Java are arguments of the virtual machine.
	Java []string
}

// Connect is a worker that runs.
type Connect struct {
	// Process ends with the calling process.
	Process service.Process
	address string
	log     string
}

// Start starts a worker and returns when its REST interface answers.
func Start(ctx context.Context, o Options) (*Connect, error) {
	port, err := service.FreePorts(1)
	if err != nil {
		return nil, err
	}
	c := &Connect{
		address: "http://" + net.JoinHostPort(service.Loopback, strconv.Itoa(port)), log: filepath.Join(o.Dir, "connect.log"),
	}
	worker := filepath.Join(o.Dir, "worker.properties")
	lines := "bootstrap.servers=" + o.Bootstrap + "\nlisteners=" + c.address + "\noffset.storage.file.filename=" +
		filepath.Join(o.Dir, "offsets") + "\nplugin.discovery=service_load\n" + o.Worker
	if err := os.WriteFile(worker, []byte(lines), 0o600); err != nil {
		return nil, err
	}
	args := append([]string{"java"}, o.Java...)
	args = append(args, "-XX:-UsePerfData", "-Djava.io.tmpdir="+o.Dir,
		"-cp", filepath.Join(o.Libraries, "*"), "org.apache.kafka.connect.cli.ConnectStandalone", worker)
	c.Process, err = service.Start(service.Command{Args: args, Dir: o.Dir, LogFile: c.log, DeathSignal: syscall.SIGKILL})
	if err != nil {
		return nil, err
	}
	return c, c.Await(ctx, "Connect answers", func() (bool, error) {
		return c.Call(ctx, http.MethodGet, "/connectors", nil) == nil, nil
	})
}

// Stop ends the worker.
func (c *Connect) Stop(ctx context.Context) error {
	return c.Process.End(ctx, syscall.SIGTERM, 10*time.Second)
}

// Await asks until done says yes; it gives up when the worker has ended or it
// takes too long, and then shows the worker's log.
func (c *Connect) Await(ctx context.Context, what string, done func() (bool, error)) error {
	for deadline := time.Now().Add(patience); c.Process.Alive() && time.Now().Before(deadline); {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if err := service.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return &service.Failure{Err: fmt.Errorf("wait until %s", what), Log: c.Log()}
}

// Log is the end of the worker's log.
func (c *Connect) Log() []string { return service.Tail(c.log, 30) }

// Call sends a request to the REST interface, with body as JSON.
func (c *Connect) Call(ctx context.Context, method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask Connect: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 300 {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(response.Body, 2000)) // It only explains.
	return fmt.Errorf("ask Connect: %s %s: %s: %s", method, path, response.Status, answer)
}
