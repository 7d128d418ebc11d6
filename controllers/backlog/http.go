package backlog

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/relayfleet/relayfleet/relay/report"
)

// readTimeout bounds a question from dial to the last byte.
const readTimeout = 2 * time.Second

// HTTPReader reads reports over plain HTTP from the pods themselves. It follows
// no redirect and uses no proxy: it goes where it is told and nowhere else.
type HTTPReader struct{ client *http.Client }

// NewHTTPReader returns a reader; it holds no connections between questions.
func NewHTTPReader() *HTTPReader {
	return &HTTPReader{client: &http.Client{
		Timeout: readTimeout,
		Transport: &http.Transport{
			DialContext:            (&net.Dialer{Timeout: readTimeout}).DialContext,
			DisableKeepAlives:      true,
			DisableCompression:     true,
			MaxResponseHeaderBytes: 8 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Read asks the relay at address (host:port) for its report. The error wraps
// ErrUnreachable, ErrRefused or ErrMalformed.
func (r *HTTPReader) Read(ctx context.Context, address string) (report.Report, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+report.Path, nil)
	if err != nil {
		return report.Report{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return report.Report{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return report.Report{}, fmt.Errorf("%w: status %d", ErrRefused, response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, report.MaxBytes+1))
	if err != nil {
		return report.Report{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	decoded, err := report.Decode(body)
	if err != nil {
		return report.Report{}, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return decoded, nil
}
