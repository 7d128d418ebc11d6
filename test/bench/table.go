package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"text/tabwriter"
)

// table is what a run of the benchmark has found.
type table struct {
	Machine machine  `json:"machine"`
	Results []result `json:"results,omitempty"`
	// Claims are what the benchmarks of the claim find.
	Claims []claimed `json:"claims,omitempty"`
	// Orders are what the benchmark of the order finds.
	Orders []ordered `json:"orders,omitempty"`
	// Notes are sentences that belong under the table.
	Notes []string `json:"notes,omitempty"`
}

// print writes the table for a person.
func (t table) print(out io.Writer) error {
	fmt.Fprintf(out, "\n%s\n\n", t.Machine)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if len(t.Results) > 0 {
		t.printResults(w)
	}
	if len(t.Claims) > 0 {
		t.printClaims(w)
	}
	if len(t.Orders) > 0 {
		t.printOrders(w)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintln(out)
	for _, note := range t.Notes {
		fmt.Fprintln(out, note)
	}
	return nil
}

func (t table) printResults(w *tabwriter.Writer) {
	fmt.Fprintln(w, "\tevents/s\tper CPU-second:\t\t\t\tMB\tms from commit\t\t\t\t")
	fmt.Fprintln(w, "\t\trelay\tdatabase\tbroker\tall\tresident\tp50\tp90\tp99\tmax\t")
	for _, r := range t.Results {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t", r.Name, whole(r.PerSecond), whole(r.Relay), whole(r.Database),
			whole(r.Broker), whole(together(r)), whole(r.ResidentMB))
		l := orNone(r.Latency)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", tenths(l.P50), tenths(l.P90), tenths(l.P99), tenths(l.Max))
	}
}

// save writes the table as JSON.
func (t table) save(file string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return fmt.Errorf("save the table: %w", err)
	}
	if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("save the table: %w", err)
	}
	return nil
}

// together is events per second of processor time of all three.
func together(r result) float64 {
	seconds := 0.0
	for _, per := range []float64{r.Relay, r.Database, r.Broker} {
		if per > 0 {
			seconds += 1 / per
		}
	}
	if seconds == 0 {
		return 0
	}
	return 1 / seconds
}

func whole(figure float64) string { return digits(figure, 0) }

func tenths(figure float64) string { return digits(figure, 1) }

// digits writes a figure, and a dash for one that was not measured.
func digits(figure float64, after int) string {
	if figure == 0 {
		return "-"
	}
	return strconv.FormatFloat(figure, 'f', after, 64)
}
