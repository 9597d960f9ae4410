package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// trickle is an upload that is sent in pieces.
type trickle struct{ net.Conn }

func (w *env) trickle() trickle {
	w.t.Helper()
	c, err := net.Dial("tcp", w.http.Listener.Addr().String())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	fmt.Fprintf(c, "POST /v1/files HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n", w.key)
	return trickle{c}
}

// send reports whether the server still reads what is sent.
func (c trickle) send(piece string) bool {
	_, err := fmt.Fprintf(c, "%x\r\n%s\r\n", len(piece), piece)
	return err == nil
}

// finish ends the form; answer reads the response.
func (c trickle) finish() { c.send("\r\n--x--\r\n"); _, _ = io.WriteString(c, "0\r\n\r\n") }

func (c trickle) answer() string {
	got, _ := io.ReadAll(c) // until the server ends the connection; errors are ignored
	return string(got)
}

const formHead = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"

// TestSlowUpload checks that a steady upload may exceed the time limit of other bodies,
// and that one that stops or is too slow is rejected.
func TestSlowUpload(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		piece string
		count int
		want  string
	}{
		"steady":       {strings.Repeat("a", 4096), 60, "HTTP/1.1 201"},
		"drop by drop": {"a", 1000, "HTTP/1.1 422"},
		"stopping":     {"", 0, "HTTP/1.1 422"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.setBodyTimeout(time.Second)
			c := w.trickle()
			c.send(formHead)
			tick := time.NewTicker(20 * time.Millisecond) // in all longer than arrival
			defer tick.Stop()
			for range test.count {
				<-tick.C
				if !c.send(test.piece) {
					break
				}
			}
			if test.count > 0 {
				c.finish()
			}
			if got := c.answer(); !strings.HasPrefix(got, test.want) {
				t.Errorf("the answer is %q", got)
			}
		})
	}
}

// TestFileTransfers_count_as_held checks that uploads and downloads count as held
// until they end.
func TestFileTransfers_count_as_held(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *Config) { c.MaxHeld = 1 })
	id := w.uploaded("a.txt", "text/plain", []byte("hello"))
	w.server.gate.held.Add(1)
	w.get("/v1/files/"+id).wantCode(t, 503, flow.CodeOverloaded)
	w.upload("", "b", "", []byte("b")).wantCode(t, 503, flow.CodeOverloaded)
	w.server.gate.held.Add(-1)
	w.get("/v1/files/"+id).want(t, 200)
	w.get("/v1/files/"+id, "Range", "bytes=99-").want(t, 416)
	if held, busy := w.server.gate.held.Load(), w.server.gate.busy.Load(); held != 0 || busy != 0 {
		t.Errorf("%d held and %d busy are left", held, busy)
	}
}

// TestUpload_is_streamed_to_the_store checks that the store gets the beginning of a file
// before the end was sent.
func TestUpload_is_streamed_to_the_store(t *testing.T) {
	t.Parallel()
	seen := make(chan int, 100)
	w := setup(t, func(c *Config) { c.Files = &watchedShelf{Files: c.Files, seen: seen} })
	c := w.trickle()
	c.send(formHead + strings.Repeat("a", 64<<10))
	if n := <-seen; n == 0 || n > 64<<10 {
		t.Errorf("the store got %d bytes at first", n)
	}
	c.finish()
	if got := c.answer(); !strings.HasPrefix(got, "HTTP/1.1 201") || !strings.Contains(got, `"size":65536`) {
		t.Errorf("the answer is %q", got)
	}
}

// watchedShelf reports the size of each read of an upload.
type watchedShelf struct {
	Files
	seen chan int
}

func (s *watchedShelf) SaveFile(ctx context.Context, n flow.NewFile, content io.Reader) (*flow.File, error) {
	return s.Files.SaveFile(ctx, n, readerFunc(func(p []byte) (int, error) {
		read, err := content.Read(p)
		select {
		case s.seen <- read:
		default:
		}
		return read, err
	}))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestSlowDownload checks that a slow client that keeps reading gets the complete file.
func TestSlowDownload(t *testing.T) {
	t.Parallel()
	w := setup(t)
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB, more than buffers hold
	id := w.uploaded("a.bin", "application/zip", data)
	resp := w.open(request{method: "GET", path: "/v1/files/" + id})
	defer resp.Body.Close()
	var got bytes.Buffer
	for {
		n, err := io.CopyN(&got, resp.Body, 256<<10)
		if err == io.EOF && n < 256<<10 {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if resp.StatusCode != http.StatusOK || !bytes.Equal(got.Bytes(), data) {
		t.Errorf("%d, %d of %d bytes", resp.StatusCode, got.Len(), len(data))
	}
}
