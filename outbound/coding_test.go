package outbound

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"sluice/e2e/need"
)

// encoders encode data as the coding that they are named after. "raw deflate" is what
// servers send that take "deflate" at its word.
var encoders = map[string]func(io.Writer) io.WriteCloser{
	"gzip":        func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
	"deflate":     func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
	"raw deflate": func(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 6); return f },
	"br":          func(w io.Writer) io.WriteCloser { return brotli.NewWriterLevel(w, 5) },
	"zstd":        func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
}

func encode(t *testing.T, data []byte, names ...string) []byte {
	t.Helper()
	for _, name := range names {
		var b bytes.Buffer
		w := encoders[name](&b)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	return data
}

// answering returns the URL of a server that answers with these lines of Content-Encoding.
func answering(t *testing.T, status int, body []byte, codings ...string) string {
	t.Helper()
	return newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Encoding"] = codings
		w.WriteHeader(status)
		_, _ = w.Write(body)
	}).URL
}

func TestDecode_decodes_all_codings(t *testing.T) {
	t.Parallel()
	const want = `{"msg": "héllo"}`
	long := strings.Repeat(want, 20_000)
	for _, c := range []struct {
		name    string
		applied []string
		header  []string
	}{
		{"gzip", []string{"gzip"}, []string{"gzip"}},
		{"x-gzip", []string{"gzip"}, []string{"x-gzip"}},
		{"upper case", []string{"gzip"}, []string{"GZip"}},
		{"deflate", []string{"deflate"}, []string{"deflate"}},
		{"deflate without zlib", []string{"raw deflate"}, []string{"deflate"}},
		{"br", []string{"br"}, []string{"br"}},
		{"zstd", []string{"zstd"}, []string{"zstd"}},
		{"identity", nil, []string{"identity"}},
		{"two in one line", []string{"br", "gzip"}, []string{"br, gzip"}},
		{"two lines", []string{"zstd", "deflate"}, []string{"zstd", "deflate"}},
		{"four", []string{"gzip", "zstd", "br", "raw deflate"}, []string{"gzip,zstd , identity, br", "deflate"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			client := newClient(t, loopback())
			for _, text := range []string{want, long} {
				got := mustDo(t, client, Request{URL: answering(t, 200, encode(t, []byte(text), c.applied...), c.header...)})
				if string(got.Body) != text {
					t.Errorf("got %d bytes, %.40q", len(got.Body), got.Body)
				}
				if c.applied != nil && (got.Header.Get("Content-Encoding") != "" || got.Header.Get("Content-Length") != "") {
					t.Errorf("the headers describe the encoded body: %v", got.Header)
				}
			}
			if got := mustDo(t, client, Request{URL: answering(t, 200, nil, c.header...)}); len(got.Body) != 0 {
				t.Errorf("an empty body became %q", got.Body)
			}
			stream, err := client.Stream(t.Context(), Request{URL: answering(t, 200, encode(t, []byte(long), c.applied...), c.header...)})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			if data, err := io.ReadAll(stream.Body); err != nil || string(data) != long {
				t.Errorf("the stream has %d bytes, %v", len(data), err)
			}
		})
	}
}

func TestDecode_rejects_other_codings(t *testing.T) {
	t.Parallel()
	client := newClient(t, loopback())
	for _, c := range []struct {
		header    []string
		status    int
		retryable bool
		want      string
	}{
		{[]string{"compress"}, 200, false, `"compress"`},
		{[]string{"gzip, x-bzip2"}, 200, false, `"gzip, x-bzip2"`},
		{[]string{"lzma"}, 404, false, `(status 404) has the Content-Encoding "lzma"`},
		{[]string{"exi"}, 503, true, `"exi"`},
		{[]string{strings.Repeat("x", 500)}, 200, false, strings.Repeat("x", maxCodingShown) + "…"},
		{[]string{"gzip, gzip, gzip, gzip, gzip"}, 200, false, `"gzip, gzip`},
	} {
		_, err := client.Do(t.Context(), Request{URL: answering(t, c.status, []byte("data"), c.header...)})
		if e := wantKind(t, err, ClassEncoding); e.Retryable() != c.retryable || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %v, %s", c.header, e.Retryable(), e.Message)
		}
		stream, err := client.Stream(t.Context(), Request{URL: answering(t, c.status, []byte("data"), c.header...)})
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(stream.Body); len(data) != 0 {
			t.Errorf("%s: encoded bytes are read: %q, %v", c.header, data, err)
		}
		_ = stream.Body.Close()
	}
	if got := mustDo(t, client, Request{Method: http.MethodHead, URL: answering(t, 200, nil, "compress")}); got.Status != 200 {
		t.Errorf("a HEAD request has no body to decode: %+v", got)
	}
	if got := mustDo(t, client, Request{URL: answering(t, 204, nil, "compress")}); got.Status != 204 {
		t.Errorf("204 has no body to decode: %+v", got)
	}
}

func TestDecode_rejects_invalid_data(t *testing.T) {
	t.Parallel()
	client := newClient(t, loopback())
	for name, header := range map[string]string{"gzip": "gzip", "deflate": "deflate", "raw deflate": "deflate", "br": "br", "zstd": "zstd"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder // does not compress to a few bytes
			for i := range 5000 {
				text.WriteString(strconv.Itoa(i * i))
			}
			whole := encode(t, []byte(text.String()), name)
			_, err := client.Do(t.Context(), Request{URL: answering(t, 200, whole[:len(whole)/2], header)})
			if e := wantKind(t, err, ClassConnection); !e.Retryable() {
				t.Errorf("half of the data: %v", e)
			}
			_, err = client.Do(t.Context(), Request{URL: answering(t, 200, []byte("\xffthis is only text"), header)})
			if e := wantKind(t, err, ClassEncoding); !strings.Contains(e.Message, header) || e.Retryable() {
				t.Errorf("text: %v", e)
			}
		})
	}
}

// Not parallel: it measures what the whole program allocates meanwhile.
func TestDecode_limits_bombs(t *testing.T) {
	need.Time(t)
	const limit = 1 << 20
	zeros := make([]byte, 64<<20)
	client := newClient(t, loopback())
	for _, codings := range [][]string{{"deflate"}, {"br"}, {"zstd"}, {"gzip", "gzip"}, {"zstd", "br"}, {"br", "zstd", "gzip"}} {
		url := answering(t, 200, encode(t, zeros, codings...), strings.Join(codings, ", "))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := client.Do(t.Context(), Request{URL: url, MaxBody: limit})
		runtime.ReadMemStats(&after)
		wantKind(t, err, ClassTooLarge)
		if used := after.TotalAlloc - before.TotalAlloc; used > 40<<20 { // windows of brotli and zstd included
			t.Errorf("%v: allocated %d bytes for a limit of %d", codings, used, limit)
		}
		if got := mustDo(t, client, Request{URL: url, MaxBody: 10, Truncate: true}); len(got.Body) != 10 || !got.Truncated {
			t.Errorf("%v: truncated to %d bytes", codings, len(got.Body))
		}
	}
}

// TestDecode_limits_encoded_bytes sends data that never yields a byte of content.
func TestDecode_limits_encoded_bytes(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	client := newClient(t, loopback())
	empty := encode(t, nil, "gzip") // a member without content
	var b bytes.Buffer
	for b.Len() < 8*limit {
		b.Write(empty)
	}
	for _, codings := range [][]string{{"gzip"}, {"gzip", "zstd"}} {
		url := answering(t, 200, encode(t, b.Bytes(), codings[1:]...), strings.Join(codings, ", "))
		_, err := client.Do(t.Context(), Request{URL: url, MaxBody: limit})
		wantKind(t, err, ClassTooLarge)
	}
}

func TestDecode_rejects_large_windows(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(64<<20))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("x"))
	_ = w.Flush()
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Close()
	_, err = newClient(t, loopback()).Do(t.Context(), Request{URL: answering(t, 200, b.Bytes(), "zstd")})
	if e := wantKind(t, err, ClassEncoding); !strings.Contains(e.Message, "window") {
		t.Error(e)
	}
}

// TestDecode_streams_events checks that an event arrives before the next one is sent.
func TestDecode_streams_events(t *testing.T) {
	t.Parallel()
	client := newClient(t, loopback())
	for name, encoder := range encoders {
		next := make(chan bool)
		s := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", strings.TrimPrefix(name, "raw "))
			e := encoder(w).(interface {
				io.WriteCloser
				Flush() error
			})
			for range 3 {
				_, _ = e.Write([]byte("data: x\n\n"))
				_ = e.Flush()
				w.(http.Flusher).Flush()
				if !<-next {
					return
				}
			}
			_ = e.Close()
		})
		stream, err := client.Stream(t.Context(), Request{URL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := io.ReadFull(stream.Body, make([]byte, 9)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			next <- true
		}
		if rest, err := io.ReadAll(stream.Body); err != nil || len(rest) != 0 {
			t.Errorf("%s: %q, %v", name, rest, err)
		}
		_ = stream.Body.Close()
	}
}

func TestAcceptCodings_asks_for_no_coding_of_a_range(t *testing.T) {
	t.Parallel()
	var asked string
	s := newServer(t, func(_ http.ResponseWriter, r *http.Request) { asked = r.Header.Get("Accept-Encoding") })
	mustDo(t, newClient(t, loopback()), Request{URL: s.URL, Header: http.Header{"Range": {"bytes=0-9"}}})
	if asked != "identity" {
		t.Errorf("asked for %q", asked)
	}
}
