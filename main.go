// Relayfleet is a Kubernetes operator for fleets of outbox relays, and the relay
// itself: one binary, one image.
package main

import (
	"os"

	"github.com/relayfleet/relayfleet/cmd"
)

func main() {
	os.Exit(cmd.Execute())
}
