package report

import (
	"net/http"
)

// Handler serves a relay's report and its probes. Liveness is the pipeline's own
// progress: an outage elsewhere is no reason to restart a relay.
func Handler(current func() Report, ready, live func() bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Path, func(w http.ResponseWriter, _ *http.Request) {
		data, err := Encode(current())
		if err != nil {
			http.Error(w, "the report cannot be written", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data) // A reader that went away is its own affair.
	})
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) {
		if !live() {
			http.Error(w, "something has been stuck for far longer than its own bound", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "has not yet claimed from its table and reached its broker", http.StatusServiceUnavailable)
		}
	})
	return mux
}
