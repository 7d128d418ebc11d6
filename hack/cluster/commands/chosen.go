package commands

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/relayfleet/relayfleet/hack/cluster/choice"
)

// chosen remembers which cluster the last start gave.
type chosen struct {
	Kind       choice.Kind `json:"kind"`
	Kubeconfig string      `json:"kubeconfig"`
}

func (p place) chosenFile() string { return filepath.Join(p.state(), "chosen.json") }

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
	if err := os.MkdirAll(p.state(), 0o700); err != nil {
		return err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(p.chosenFile(), append(text, '\n'), 0o644)
}
