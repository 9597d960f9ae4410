package editor_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"sluice/handlers/webtest"
	"strings"
	"testing"
	"time"
)

// stream reads the events of a flow.
type stream struct {
	t      *testing.T
	lines  *bufio.Scanner
	cancel context.CancelFunc
}

type streamEvent struct {
	name, id string
	detail   map[string]any
}

func openStream(b *webtest.Browser, path, last string) *stream {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", b.Base+path, nil)
	if err != nil {
		b.T.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := b.Client.Do(r)
	if err != nil {
		b.T.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.T.Fatalf("status %d", resp.StatusCode)
	}
	b.T.Cleanup(func() { cancel(); resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &stream{b.T, lines, cancel}
}

// next waits for the next event with a name and skips others. An empty name means the
// end of the stream.
func (s *stream) next(name string) (e streamEvent) {
	s.t.Helper()
	for s.lines.Scan() {
		key, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.detail); err != nil {
				s.t.Fatalf("%v in %s", err, value)
			}
		case "":
			if e.name == name && name != "" {
				return e
			}
			e = streamEvent{}
		}
	}
	if name != "" {
		s.t.Fatalf("the stream ended before %s", name)
	}
	return streamEvent{}
}
