package webtest

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Stream reads the events of a flow.
type Stream struct {
	t      *testing.T
	lines  *bufio.Scanner
	Cancel context.CancelFunc
}

type streamed struct {
	name, ID string
	Detail   map[string]any
}

func (b *Browser) Stream(path, last string) *Stream {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", b.Base+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := b.Client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		b.t.Fatalf("status %d", resp.StatusCode)
	}
	b.t.Cleanup(func() { cancel(); resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &Stream{b.t, lines, cancel}
}

// Next waits for the next event of a name; others are passed over. No name is
// the end of the stream.
func (s *Stream) Next(name string) (e streamed) {
	s.t.Helper()
	for s.lines.Scan() {
		key, value, _ := strings.Cut(s.lines.Text(), ": ")
		switch key {
		case "id":
			e.ID = value
		case "event":
			e.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.Detail); err != nil {
				s.t.Fatalf("%v in %s", err, value)
			}
		case "":
			if e.name == name && name != "" {
				return e
			}
			e = streamed{}
		}
	}
	if name != "" {
		s.t.Fatalf("the stream ended before %s", name)
	}
	return streamed{}
}
