package node

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/relayfleet/relayfleet/hack/cluster/images"
)

// Load imports an image archive (OCI or Docker format) and checks that it
// brought the image.
func (n *Node) Load(ctx context.Context, image, archive string) error {
	path, err := filepath.Abs(archive)
	if err != nil {
		return err
	}
	if _, err := n.Ctr(ctx, "images", "import", path); err != nil {
		return fmt.Errorf("import %s: %w", archive, err)
	}
	names, err := n.Ctr(ctx, "images", "list", "-q")
	if err != nil {
		return err
	}
	if !slices.Contains(strings.Fields(names), image) {
		return fmt.Errorf("%s does not hold the image %s; the node has: %s", archive, image, strings.Join(strings.Fields(names), ", "))
	}
	return nil
}

func (n *Node) loadPause(ctx context.Context) error {
	if err := images.Pause(ctx, PauseImage, n.Paths.pauseArchive()); err != nil {
		return err
	}
	return n.Load(ctx, PauseImage, n.Paths.pauseArchive())
}
