package hosted_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

func upload(name, mime string, content []byte) hosted.Upload {
	return hosted.Upload{Name: name, MIME: mime, Size: int64(len(content)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func TestPutFile(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte("0123456789"), 100_000)
	t.Run("sends a small file inline", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		url, err := client.PutFile(t.Context(), hostedtest.Secret, upload("a.txt", "text/plain; charset=utf-8", []byte("hello")))
		if err != nil || url != "data:text/plain;base64,aGVsbG8=" || len(fake.Requests()) != 0 {
			t.Errorf("%q, %v", url, err)
		}
	})
	t.Run("uploads a larger one, again when it is turned away", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Throttle(1, "~1s", "")
		url, err := client.PutFile(t.Context(), hostedtest.Secret, upload("Bild \"ä\".png", "image/png", big))
		if err != nil {
			t.Fatal(err)
		}
		content, name, mime, ok := fake.File(url)
		if !ok || !bytes.Equal(content, big) || name != "Bild \"ä\".png" || mime != "image/png" {
			t.Errorf("%s: %d bytes, %q, %q", url, len(content), name, mime)
		}
		if got := fake.Requests()[1].Header.Get("Content-Length"); got == "" {
			t.Error("the length was not told")
		}
	})
	t.Run("finds out the size of one that does not tell it", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		for _, content := range [][]byte{[]byte("small"), big} {
			f := upload("f", "", content)
			f.Size = -1
			url, err := client.PutFile(t.Context(), hostedtest.Secret, f)
			got, _, _, uploaded := fake.File(url)
			if err != nil || uploaded != (len(content) > 256_000) || uploaded && !bytes.Equal(got, content) {
				t.Errorf("%d bytes: %.40q, %v", len(content), url, err)
			}
		}
	})
	t.Run("says that a file cannot be read", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		for _, size := range []int64{1, 1 << 20} {
			_, err := client.PutFile(t.Context(), hostedtest.Secret, hosted.Upload{Size: size,
				Open: func() (io.ReadCloser, error) { return nil, errors.New("/secret/path is gone") }})
			if e := wantError(t, err, providers.ClassBadRequest); strings.Contains(e.Message, "/secret") {
				t.Error(e.Message)
			}
		}
	})
	t.Run("says that a file is too large", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(respond(413, nil, "<html>"))
		_, err := client.PutFile(t.Context(), hostedtest.Secret, upload("f", "", big))
		if e := wantError(t, err, providers.ClassRejected); !strings.Contains(e.Message, "larger than Replicate takes") {
			t.Error(e.Message)
		}
	})
}

func TestFetch(t *testing.T) {
	t.Parallel()
	t.Run("streams a file without the secret", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		url := fake.Deliver("out-0.png", "image/png", []byte("pixels"))
		d, err := client.Fetch(t.Context(), hostedtest.Secret, url)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(d.Body)
		if err != nil || string(content) != "pixels" || d.Name != "out-0.png" || d.MIME != "image/png" || d.Size != 6 {
			t.Errorf("%+v %q, %v", d, content, err)
		}
		if d.Body.Close() != nil || fake.Leaks() != 0 {
			t.Errorf("%d leaks", fake.Leaks())
		}
	})
	t.Run("asks only the API by the way that reaches private networks", func(t *testing.T) {
		t.Parallel()
		fake, _, _ := setup(t)
		elsewhere := fake.Deliver("out.png", "image/png", []byte("pixels"))
		own, public := &ways{}, &ways{}
		client := hosted.NewReplicate(hosted.ReplicateConfig{BaseURL: fake.URL, API: own.client(t), OwnFiles: own.client(t), Files: public.client(t)})
		hosted.SetPause(client, func(context.Context, time.Duration) error { return nil })
		if _, err := client.Start(t.Context(), hostedtest.Secret, hello()); err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{elsewhere, fake.URL + "/account", "http://API.replicate.com/v1", strings.Replace(fake.URL, "http://", "http://user@", 1), "http://127.0.0.1:1/v1"} {
			if d, err := client.Fetch(t.Context(), hostedtest.Secret, address); err == nil {
				_ = d.Body.Close()
			}
		}
		if err := client.Stream(t.Context(), hostedtest.Secret, elsewhere, func(string) {}); err == nil {
			t.Error("it streams from anywhere")
		}
		host := strings.TrimSuffix(strings.TrimPrefix(fake.URL, "http://"), "/v1")
		if len(own.hosts()) != 1 || own.hosts()[0] != host {
			t.Errorf("the API's own way led to %v", own.hosts())
		}
		if fake.Leaks() != 0 || public.secrets != 0 || len(public.hosts()) < 3 {
			t.Errorf("%d leaks, %d secrets, other files came from %v", fake.Leaks(), public.secrets, public.hosts())
		}
	})
	t.Run("gives the secret to the API itself", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		d, err := client.Fetch(t.Context(), hostedtest.Secret, fake.URL+"/account")
		if err != nil {
			t.Fatal(err)
		}
		_ = d.Body.Close()
	})
	t.Run("reads data URLs", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		for url, want := range map[string]string{
			"data:image/png;base64,aGVsbG8=": "image/png hello", "data:,a%20b": "application/octet-stream a b",
		} {
			d, err := client.Fetch(t.Context(), "", url)
			if err != nil {
				t.Fatal(err)
			}
			content, _ := io.ReadAll(d.Body)
			if got := d.MIME + " " + string(content); got != want || d.Size != int64(len(content)) {
				t.Errorf("%s: %q, %d", url, got, d.Size)
			}
		}
		for _, url := range []string{"data:image/png;base64,%%%", "data:image/png"} {
			_, err := client.Fetch(t.Context(), "", url)
			wantError(t, err, providers.ClassBadAnswer)
		}
	})
	t.Run("says that a file is gone", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		url := fake.Deliver("a", "text/plain", nil)
		_, err := client.Fetch(t.Context(), hostedtest.Secret, url+"/none")
		if e := wantError(t, err, providers.ClassUnavailable); e.Retryable || !strings.Contains(e.Message, "after an hour") {
			t.Errorf("%+v", e)
		}
	})
	t.Run("stops at the limit of the client", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(hostedtest.Fault{Path: "/endless", Do: func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write(make([]byte, 1<<16))
			}
		}})
		d, err := client.Fetch(t.Context(), hostedtest.Secret, fake.URL+"/endless")
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, d.Body)
		wantError(t, err, providers.ClassTooLarge)
		if n > 1<<20 || d.Body.Close() != nil {
			t.Errorf("%d bytes", n)
		}
	})
	t.Run("says that it broke off", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(hostedtest.Fault{Path: "/half", Status: 200, Header: http.Header{"Content-Length": {"100"}}, Body: "half", Break: true})
		d, err := client.Fetch(t.Context(), hostedtest.Secret, fake.URL+"/half")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.ReadAll(d.Body)
		wantError(t, err, providers.ClassUnavailable)
		_ = d.Body.Close()
	})
	t.Run("names files so that they do no harm", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		for disposition, want := range map[string]string{
			`attachment; filename="../../etc/passwd"`: "passwd", `attachment; filename="..\\x.png"`: "x.png",
			`attachment; filename=".."`: "file", `inline`: "named.bin",
		} {
			fake.Fail(respond(200, http.Header{"Content-Disposition": {disposition}}, "x"))
			d, err := client.Fetch(t.Context(), hostedtest.Secret, fake.URL+"/named.bin")
			if err != nil {
				t.Fatal(err)
			}
			if _ = d.Body.Close(); d.Name != want {
				t.Errorf("%s: %q, wanted %q", disposition, d.Name, want)
			}
		}
	})
	t.Run("fetches nothing but the web", func(t *testing.T) {
		t.Parallel()
		_, client, _ := setup(t)
		for _, url := range []string{"file:///etc/passwd", "ftp://example.com/x", "x", "://"} {
			_, err := client.Fetch(t.Context(), hostedtest.Secret, url)
			wantError(t, err, providers.ClassBadRequest)
		}
	})
}

// ways records where a client went, and how often with a secret. It leads
// nowhere but to loopback.
type ways struct {
	mu      sync.Mutex
	went    []string
	secrets int
}

func (w *ways) client(t *testing.T) *http.Client {
	inner := &http.Transport{}
	t.Cleanup(inner.CloseIdleConnections)
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		w.mu.Lock()
		w.went = append(w.went, r.URL.Host)
		if strings.Contains(r.Header.Get("Authorization"), hostedtest.Secret) {
			w.secrets++
		}
		w.mu.Unlock()
		if r.URL.Hostname() != "127.0.0.1" {
			return nil, errors.New("there is no such host")
		}
		return inner.RoundTrip(r)
	})}
}

// hosts are where it went, each once.
func (w *ways) hosts() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(w.went)))
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
