package webtest

import (
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// PostSlowly does something once the server waits for the form, and then sends
// the form.
func (b *Browser) PostSlowly(path string, form url.Values, meanwhile func()) {
	b.t.Helper()
	body, send := io.Pipe()
	trace := &httptrace.ClientTrace{Got100Continue: func() {
		meanwhile()
		go func() {
			_, err := io.WriteString(send, form.Encode())
			_ = send.CloseWithError(err)
		}()
	}}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(b.t.Context(), trace), "POST", b.Base+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Expect", "100-continue")
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	client := *b.Client
	client.Transport = transport
	resp, err := client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
}
