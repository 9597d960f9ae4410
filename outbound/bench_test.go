package outbound

import (
	"io"
	"net/http"
	"runtime"
	"testing"
)

// BenchmarkDo drives 64 callers against one server on loopback. Client and
// server share the processor: what the client costs is less than the figure.
func BenchmarkDo(b *testing.B) {
	s := newServer(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) })
	c := newClient(b, loopback())
	req := Request{Method: http.MethodPost, URL: s.URL, Body: []byte(`{"text":"hello"}`),
		Header: http.Header{"Content-Type": {"application/json"}}, MaxRedirects: MaxRedirects}
	b.ReportAllocs()
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Do(b.Context(), req); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkNetHTTP is the same through a bare http.Client, to compare with.
func BenchmarkNetHTTP(b *testing.B) {
	s := newServer(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"ok":true}`)) })
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: idlePerHost}}
	b.Cleanup(client.CloseIdleConnections)
	b.ReportAllocs()
	b.SetParallelism(max(1, 64/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Post(s.URL, "application/json", http.NoBody)
			if err != nil {
				b.Error(err)
				continue
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

func BenchmarkParseURL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseURL("https://api.example.com/v1/things?id=1"); err != nil {
			b.Fatal(err)
		}
	}
}
