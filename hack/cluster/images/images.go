// Package images makes images of one static binary without a registry and
// without a container engine.
package images

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Pause builds the image of pods' sandboxes into an archive that `ctr images
// import` takes.
func Pause(ctx context.Context, image, archive string) error {
	folder, err := os.MkdirTemp("", "relayfleet-pause-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // A temporary folder.
	binary := filepath.Join(folder, "pause")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", binary,
		"github.com/relayfleet/relayfleet/hack/cluster/pause")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the pause program: %w: %s", err, out)
	}
	return Write(image, binary, archive)
}

// Write packs one static binary as the entry point of an image that runs it as
// a user without rights.
func Write(image, binary, archive string) error {
	ref, err := name.NewTag(image)
	if err != nil {
		return err
	}
	layer, err := layerOf(binary)
	if err != nil {
		return fmt.Errorf("pack %s: %w", binary, err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config = v1.Config{Entrypoint: []string{"/" + filepath.Base(binary)}, User: "65535:65535"}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return err
	}
	return tarball.WriteToFile(archive, ref, img)
}

func layerOf(binary string) (v1.Layer, error) {
	text, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	header := &tar.Header{Name: filepath.Base(binary), Mode: 0o755, Size: int64(len(text))}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	})
}
