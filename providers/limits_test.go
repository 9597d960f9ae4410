package providers

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// endless writes a pattern until its reader goes, at most 10 GB, and counts.
func endless(w http.ResponseWriter, sent *atomic.Int64, pattern string) {
	chunk := []byte(strings.Repeat(pattern, 1+(64<<10)/len(pattern)))
	for sent.Load() < 10<<30 {
		n, err := w.Write(chunk)
		sent.Add(int64(n))
		if err != nil {
			return
		}
	}
}

// TestHugeAnswers is not parallel: it looks at the memory of the process.
func TestHugeAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory, and the race detector uses its own; run without -short")
	}
	for _, c := range []struct {
		name    string
		status  int
		mime    string
		front   string
		pattern string
		of      string // the methods whose names begin so
		most    int64  // bytes that may be sent
	}{
		{"one endless line", 200, "text/event-stream", "data: ", "x", "", 48 << 20},
		{"one endless event", 200, "text/event-stream", "", "data: {\n", "Chat", 16 << 20},
		{"one endless text", 200, "text/event-stream", "", delta(strings.Repeat("text ", 4000)), "Chat", 64 << 20},
		{"an endless refusal", 400, "application/json", `{"error":{"message":"`, "x", "", 16 << 20},
		{"an endless list", 200, "application/json", `{"data":[`, `{"id":"x"},`, "", 48 << 20},
		{"an endless picture", 200, "application/json", `{"data":[{"b64_json":"`, "AAAA", "Image", 48 << 20},
		{"an endless name", 200, "application/json", `{"`, "AAAA", "Image", 48 << 20},
	} {
		for _, m := range methods {
			if !strings.HasPrefix(m.name, c.of) || m.name == "Speech" || c.of == "Chat" && m.provider != "openai" || c.name == "one endless text" && strings.Contains(m.name, "Responses") {
				continue // speech streams to its reader; the text is in the format of chat completions
			}
			t.Run(c.name+"/"+m.name, func(t *testing.T) {
				var sent atomic.Int64
				u := setup(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", c.mime)
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.front)
					endless(w, &sent, c.pattern)
				})
				u.client.images = 24 << 20 // pictures go to the disk, which is slow
				base, stop := watchHeap()
				err := m.run(brief(t), u.client, u.at(m.provider))
				peak := stop()
				failure(t, err)
				if peak > base+64<<20 {
					t.Errorf("the heap grew by %d MiB", (peak-base)>>20)
				}
				if n := sent.Load(); n > c.most {
					t.Errorf("%d MiB were sent", n>>20)
				}
			})
		}
	}
}

// watchHeap measures what is in use now and at the most until stop.
func watchHeap() (base uint64, stop func() uint64) {
	runtime.GC()
	base = heap()
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := base
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				peak <- most
				return
			case <-tick.C:
				most = max(most, heap())
			}
		}
	}()
	return base, func() uint64 { close(done); return <-peak }
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestSpeechIsBounded reads a recording without an end.
func TestSpeechIsBounded(t *testing.T) {
	t.Parallel()
	b := &answerBody{ReadCloser: io.NopCloser(zeros{}), ctx: t.Context(), session: &session{name: "X"}, limit: maxStream, left: maxStream}
	n, err := io.Copy(io.Discard, b)
	if e := failure(t, err); e.Class != ClassTooLarge || n != maxStream || !strings.Contains(e.Message, "512 MiB") {
		t.Errorf("got %d bytes and %+v", n, e)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestSlowAnswers ends a trickle by the deadline, and by canceling, where
// the upstream hears.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	for _, m := range methods {
		for _, how := range []error{context.DeadlineExceeded, context.Canceled} {
			t.Run(m.name+"/"+how.Error(), func(t *testing.T) {
				t.Parallel()
				gone, started := make(chan struct{}), make(chan struct{})
				u := setup(t, func(w http.ResponseWriter, r *http.Request) {
					mime, front := begun(r.URL.Path, nil)
					w.Header().Set("Content-Type", mime)
					trickle(w, r, []byte(front+strings.Repeat(" ", 1<<10)), started)
					close(gone)
				})
				ctx, cancel := context.WithCancel(brief(t))
				if how == context.DeadlineExceeded {
					ctx, cancel = context.WithTimeout(brief(t), 100*time.Millisecond)
				} else {
					go func() { <-started; cancel() }()
				}
				defer cancel()
				if err := m.run(ctx, u.client, u.at(m.provider)); !errors.Is(err, how) {
					t.Errorf("got %v, wanted %v", err, how)
				}
				select {
				case <-started: // always, unless the deadline came before the request
					heard(t, gone)
				default:
				}
			})
		}
	}
}

func heard(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-brief(t).Done():
		t.Error("the upstream never heard of it")
	}
}

// trickle writes a byte now and then until the caller is gone.
func trickle(w http.ResponseWriter, r *http.Request, text []byte, started chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		_, _ = w.Write(text[i%len(text):][:1])
		w.(http.Flusher).Flush()
		if i == 3 {
			close(started)
		}
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
	}
}
