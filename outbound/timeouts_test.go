package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// silent never answers and returns when the client has gone.
func silent(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func TestSlowFirstByte(t *testing.T) {
	t.Parallel()
	secure := newTLSServer(t, silent)
	c := newClient(t, trusting(secure))
	for _, base := range []string{newServer(t, silent).URL, secure.URL} {
		_, err := c.Do(t.Context(), Request{URL: base, FirstByteTimeout: 20 * time.Millisecond})
		e := wantKind(t, err, ClassTimeout)
		if !e.Retryable() || !e.Timeout() || !strings.HasSuffix(e.Message, "did not answer within 20ms.") {
			t.Errorf("%v", e)
		}
		_, err = c.HTTPClient(ClientOptions{FirstByteTimeout: 20 * time.Millisecond}).Get(base)
		wantKind(t, err, ClassTimeout)
	}
}

func TestFirstByteTimer(t *testing.T) {
	t.Parallel()
	wrote := func(ctx context.Context) {
		httptrace.ContextClientTrace(ctx).WroteRequest(httptrace.WroteRequestInfo{})
	}
	for name, c := range map[string]struct {
		steps func(context.Context, *firstByte)
		ended bool
	}{
		"before_writing":        {func(context.Context, *firstByte) {}, false},
		"silence":               {func(ctx context.Context, _ *firstByte) { wrote(ctx) }, true},
		"answer_in_time":        {func(ctx context.Context, f *firstByte) { wrote(ctx); f.arrived() }, false},
		"answer_before_written": {func(ctx context.Context, f *firstByte) { f.arrived(); wrote(ctx) }, false},
		"another_try":           {func(ctx context.Context, f *firstByte) { wrote(ctx); wrote(ctx) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, f := startFirstByte(t.Context(), time.Minute)
				defer f.end()
				c.steps(ctx, f)
				<-time.After(time.Hour) // of the bubble's clock
				if ended := ctx.Err() != nil; ended != c.ended {
					t.Errorf("ended %v, cause %v", ended, context.Cause(ctx))
				}
			})
		})
	}
}

func TestTotalTimeout(t *testing.T) {
	t.Parallel()
	drip := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	c := newClient(t, loopback())
	for _, handler := range []http.HandlerFunc{drip, silent} {
		s := newServer(t, handler)
		_, err := c.Do(t.Context(), Request{URL: s.URL, Timeout: 20 * time.Millisecond})
		if e := wantKind(t, err, ClassTimeout); !errors.Is(e, context.DeadlineExceeded) {
			t.Errorf("cause %v", errors.Unwrap(e))
		}
		wantKind(t, readWithin(t, c.HTTPClient(ClientOptions{}), s.URL, 20*time.Millisecond), ClassTimeout)
	}
}

// readWithin returns what a call or the reading of its body ended with.
func readWithin(t *testing.T, client *http.Client, url string, limit time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = resp.Body.Read(make([]byte, 1))
	return err
}

func TestBound(t *testing.T) {
	t.Parallel()
	ctx, cancel := bound(context.Background(), 0)
	defer cancel()
	if _, ok := ctx.Deadline(); !ok {
		t.Error("a call without any deadline can last forever")
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { close(arrived); silent(w, r) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	c := newClient(t, loopback())
	_, err := c.Do(ctx, Request{URL: s.URL})
	if e := wantKind(t, err, ClassCanceled); e.Retryable() || !errors.Is(e, context.Canceled) {
		t.Errorf("%v", e)
	}
	_, err = c.Do(ctx, Request{URL: s.URL})
	wantKind(t, err, ClassCanceled)
}

func TestDialTimeout(t *testing.T) {
	t.Parallel()
	cfg := Config{Resolver: silentResolver(), dialTimeout: 20 * time.Millisecond}
	_, err := newClient(t, cfg).Do(t.Context(), Request{URL: "http://slow.example/"})
	wantKind(t, err, ClassTimeout)
}

func TestTLSTimeout(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // connects, and never says a word
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := loopback()
	cfg.tlsTimeout = 20 * time.Millisecond
	_, err = newClient(t, cfg).Do(t.Context(), Request{URL: "https://" + l.Addr().String()})
	wantKind(t, err, ClassTimeout)
}
