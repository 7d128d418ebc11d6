// Relayfleet is a Kubernetes operator for fleets of outbox relays, and the relay
// itself: one binary, one image.
package main

import (
	"os"

	// The image has no certificates of a system: without these, VerifyFull
	// would accept no public authority. A system's own go before them.
	_ "golang.org/x/crypto/x509roots/fallback"

	"github.com/relayfleet/relayfleet/cmd"
)

func main() {
	os.Exit(cmd.Execute())
}
