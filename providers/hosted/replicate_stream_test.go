package hosted_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/providers"
	"sluice/providers/hosted"
	"sluice/providers/hosted/hostedtest"
)

// streamed starts a prediction of the model that writes and streams it.
func streamed(t *testing.T, fake *hostedtest.Fake, client *hosted.Replicate, script hostedtest.Script) ([]string, error) {
	t.Helper()
	fake.OnPredict("acme", "writer", func(map[string]any) hostedtest.Script { return script })
	p, err := client.Start(t.Context(), hostedtest.Secret, hosted.StartRequest{
		Ref: hosted.Ref{Owner: "acme", Name: "writer"}, Official: true, Stream: true, Input: map[string]any{"prompt": "write"},
	})
	if err != nil || p.StreamURL == "" {
		t.Fatalf("got %+v, %v", p, err)
	}
	var got []string
	err = client.Stream(t.Context(), hostedtest.Secret, p.StreamURL, func(text string) { got = append(got, text) })
	return got, err
}

// raw answers a stream with these bytes, flushed one by one, and hangs up.
func raw(parts ...string) hostedtest.Fault {
	return hostedtest.Fault{Path: "/stream/", Do: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range parts {
			_, _ = w.Write([]byte(part))
			_ = http.NewResponseController(w).Flush()
		}
		panic(http.ErrAbortHandler)
	}}
}

func TestStream(t *testing.T) {
	t.Parallel()
	some := hostedtest.Script{Stream: []string{"x"}}
	t.Run("passes on the text as it comes", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		pieces := []string{"Once", " upon", "", " a\n\ntime", "\n", " …"}
		got, err := streamed(t, fake, client, hostedtest.Script{Stream: pieces, Output: pieces})
		if err != nil || strings.Join(got, "") != strings.Join(pieces, "") {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("waits for the end of the prediction", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		hold := make(chan struct{})
		fake.OnPredict("acme", "writer", func(map[string]any) hostedtest.Script {
			return hostedtest.Script{Stream: []string{"first"}, Hold: hold}
		})
		p, err := client.Start(t.Context(), hostedtest.Secret, hosted.StartRequest{
			Ref: hosted.Ref{Owner: "acme", Name: "writer"}, Official: true, Input: map[string]any{"prompt": ""},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = client.Stream(t.Context(), hostedtest.Secret, p.StreamURL, func(string) { close(hold) })
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("puts characters together that were cut", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		e := "event: output\ndata: "
		fake.Fail(raw(e+"caf\xc3", "\xa9\n\n", e+"\xf0\x9f\x8c\n\n", e+"\x8a!\n\n", e+"bad\xff.\n\n", e+"half\xe2\x82\n\n", "event: done\ndata: {}\n\n"))
		got, err := streamed(t, fake, client, some)
		if err != nil || strings.Join(got, "") != "café🌊!bad\uFFFD.half\uFFFD" {
			t.Errorf("%q, %v", got, err)
		}
		if slices.ContainsFunc(got, func(s string) bool { return !utf8.ValidString(s) }) {
			t.Errorf("%q has broken characters", got)
		}
	})
	t.Run("says that it broke off", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(raw("event: output\r\ndata: whole\r\n\r\n", "event: output\ndata: not whole"))
		got, err := streamed(t, fake, client, some)
		if e := wantError(t, err, providers.ClassUnavailable); !e.Retryable || !slices.Equal(got, []string{"whole"}) {
			t.Errorf("%q, %v", got, e)
		}
	})
	t.Run("passes by logs and comments, and fails with the model", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(raw(": hi\n\nevent: logs\ndata: step 1\n\ndata: no name\n\nevent: error\ndata: {\"detail\":\"CUDA error\"}\n\n"))
		got, err := streamed(t, fake, client, some)
		if e := wantError(t, err, providers.ClassBadAnswer); !strings.Contains(e.Message, "CUDA error") || len(got) != 0 {
			t.Errorf("%q, %v", got, e)
		}
	})
	t.Run("reads no line without end", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(hostedtest.Fault{Path: "/stream/", Do: func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write([]byte(strings.Repeat("data", 1<<12)))
			}
		}})
		_, err := streamed(t, fake, client, some)
		wantError(t, err, providers.ClassTooLarge)
	})
	t.Run("reads no stream without end", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		fake.Fail(hostedtest.Fault{Path: "/stream/", Do: func(w http.ResponseWriter, _ *http.Request) {
			for err := error(nil); err == nil; {
				_, err = w.Write([]byte("event: logs\ndata: " + strings.Repeat("x", 1<<15) + "\n\n"))
			}
		}})
		_, err := streamed(t, fake, client, some)
		wantError(t, err, providers.ClassTooLarge)
	})
	t.Run("ends with its context", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		began := make(chan struct{})
		fake.Fail(hostedtest.Fault{Path: "/stream/", Do: func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			close(began)
			<-r.Context().Done()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; cancel() }()
		err := client.Stream(ctx, hostedtest.Secret, strings.TrimSuffix(fake.URL, "/v1")+"/stream/1", func(string) {})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("asks no other host", func(t *testing.T) {
		t.Parallel()
		fake, client, _ := setup(t)
		other := fake.Deliver("stream.txt", "text/event-stream", []byte("event: done\ndata: {}\n\n"))
		err := client.Stream(t.Context(), hostedtest.Secret, other, func(string) {})
		if wantError(t, err, providers.ClassBadAnswer); fake.Leaks() != 0 {
			t.Errorf("%d leaks", fake.Leaks())
		}
		own := strings.TrimSuffix(fake.URL, "/v1") + "/stream/1"
		_ = client.Stream(t.Context(), hostedtest.Secret, own, func(string) {})
		if got := fake.Requests()[0].Header.Get("Authorization"); got != "Bearer "+hostedtest.Secret {
			t.Errorf("the host of the API got %q", got)
		}
	})
}
