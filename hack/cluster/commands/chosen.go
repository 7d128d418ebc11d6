package commands

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
)

// chosen remembers which cluster this checkout's last start gave. Checkouts may
// share a cache folder, so each has a file of its own.
type chosen struct {
	Kind       choice.Kind `json:"kind"`
	Kubeconfig string      `json:"kubeconfig"`
}

func (p place) chosenFile() string {
	return filepath.Join(p.cache, "chosen", fmt.Sprintf("%.6x.json", sha256.Sum256([]byte(p.checkout))))
}

// chosen returns the zero value where nothing was started.
func (p place) chosen() (chosen, error) {
	text, err := os.ReadFile(p.chosenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return chosen{}, nil
	}
	if err != nil {
		return chosen{}, err
	}
	var c chosen
	return c, json.Unmarshal(text, &c)
}

func (p place) remember(c chosen) error {
	if err := os.MkdirAll(filepath.Dir(p.chosenFile()), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(p.chosenFile(), append(text, '\n'), 0o644)
}

func (p place) forget() error {
	err := os.Remove(p.chosenFile())
	_ = os.Remove(filepath.Dir(p.chosenFile())) // stays while others are in it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
