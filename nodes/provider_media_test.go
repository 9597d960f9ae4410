package nodes

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"sluice/flow"
	"sluice/outbound"
	"sluice/providers"
)

func TestImages(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/png":
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write([]byte(dot))
		case "/page":
			w.Header().Set("Content-Type", "text/html")
		case "/large":
			w.Header().Set("Content-Type", "image/png")
			_, _ = w.Write(make([]byte, maxPicture+1))
		case "/busy":
			w.Header().Set("Retry-After", "9")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	})
	// look is a chat about pictures with a model that fetches URLs, or does not.
	look := func(t *testing.T, fetches bool, images any) (ran, []providers.Media) {
		w, got := newFixture(), &calls{}
		w.environment["gemini"] = flow.Access{Provider: "gemini", Secret: "secret-of-gemini"}
		model := map[bool]string{true: "openai/gpt-x", false: "gemini/x"}[fetches]
		if images == "a file" {
			images = []any{w.files.put(t, "photo", "image/webp", "pixels"), nil}
		} else if images == "a text file" {
			images = w.files.put(t, "notes.txt", "text/plain", "words")
		}
		u := ask(map[string]any{"model": model})
		u.ports = map[string]any{"images": images}
		r := u.executeIn(t, w, Deps{HTTP: s.deps.HTTP, Providers: fakeProviders{got}})
		if len(got.requests) == 0 {
			return r, nil
		}
		return r, got.requests[0].(providers.ChatRequest).Images
	}
	t.Run("sends files and data as content", func(t *testing.T) {
		t.Parallel()
		_, sent := look(t, true, "a file")
		if len(sent) != 1 || sent[0].Name != "photo.webp" || sent[0].MIME != "image/webp" || read(t, sent[0]) != "pixels" {
			t.Errorf("sent %+v", sent)
		}
		_, sent = look(t, true, "DATA:image/png;base64,"+base64.StdEncoding.EncodeToString([]byte(dot)))
		if len(sent) != 1 || sent[0].MIME != "image/png" || sent[0].URL != "" || read(t, sent[0]) != dot {
			t.Errorf("sent %+v", sent)
		}
	})
	t.Run("sends URLs to providers that download them, otherwise content", func(t *testing.T) {
		t.Parallel()
		_, sent := look(t, true, []any{s.URL + "/png"})
		if len(sent) != 1 || sent[0].URL != s.URL+"/png" || sent[0].Open != nil {
			t.Errorf("sent %+v", sent)
		}
		_, sent = look(t, false, []any{s.URL + "/png"})
		if len(sent) != 1 || sent[0].URL != "" || sent[0].MIME != "image/png" || sent[0].Name != "png.png" || read(t, sent[0]) != dot {
			t.Errorf("sent %+v", sent)
		}
	})
	t.Run("sends no URLs to a server inside the network", func(t *testing.T) {
		t.Parallel()
		vllm, _ := providers.FindPreset("vllm")
		if m := (&target{preset: vllm, at: providers.Endpoint{Trusted: true}}); m.passesURLs() {
			t.Error("it would fetch what callers must not reach")
		}
	})
	many := make([]any, maxImages+1)
	for i := range many {
		many[i] = s.URL + "/png"
	}
	for _, c := range []struct {
		name   string
		images any
		code   flow.Code
		says   string
	}{
		{"a page", s.URL + "/page", flow.CodeInputInvalid, "text/html"},
		{"nothing there", s.URL + "/gone", flow.CodeHTTPFailed, "127.0.0.1 answered 404"},
		{"a busy server", s.URL + "/busy", flow.CodeHTTPFailed, "503"},
		{"a large picture", s.URL + "/large", flow.CodeInputInvalid, "20 MiB per file and 48 MiB in total"},
		{"a text file", "a text file", flow.CodeInputInvalid, "notes.txt is text/plain"},
		{"a name", "photo.png", flow.CodeInputInvalid, `"images" must contain files or URLs of files`},
		{"a number", []any{number("1")}, flow.CodeInputInvalid, "got a number"},
		{"another service's file", []any{map[string]any{"file": "photo.png"}}, flow.CodeInputInvalid, "got a file"},
		{"a file that is gone", map[string]any{"file": "file_01jd0000000000000000000000"}, flow.CodeInputInvalid, "does not exist any more"},
		{"data without base64", "data:image/png,abc", flow.CodeInputInvalid, "data URL that cannot be read"},
		{"broken base64", "data:image/png;base64,%%%", flow.CodeInputInvalid, "data URL that cannot be read"},
		{"too many", many, flow.CodeInputInvalid, "has 51 images"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			r, sent := look(t, false, c.images)
			if r.Error == nil || r.Error.Code != c.code || sent != nil {
				t.Fatalf("got %v, sent %v, want %s", r.Error, sent, c.code)
			}
			has(t, r.Error.Message, c.says)
			if r.Error.Retryable != (c.name == "a busy server") {
				t.Errorf("retryable: %v", r.Error.Retryable)
			}
		})
	}
	t.Run("does not download from private addresses", func(t *testing.T) {
		t.Parallel()
		r, _ := look(t, false, "http://169.254.169.254/latest")
		if r.Error == nil || r.Error.Code != flow.CodeDestinationBlocked {
			t.Errorf("got %v", r.Error)
		}
	})
	t.Run("bounds the total size of downloads", func(t *testing.T) {
		t.Parallel()
		in := &flow.In{Config: map[string]any{"images": []any{"https://example.com/a", "https://example.com/b", "https://example.com/c"}}}
		_, err := Deps{HTTP: largeHTTP{}}.images(t.Context(), in, "images", false)
		if !errors.Is(err, &flow.Error{Code: flow.CodeInputInvalid}) {
			t.Fatalf("got %v", err)
		}
		has(t, err.Error(), "48 MiB in total")
	})
}

// largeHTTP responds with an image just below the size limit.
type largeHTTP struct{ fakeHTTP }

func (largeHTTP) Do(_ context.Context, req outbound.Request) (*outbound.Response, error) {
	const size = maxPicture - 1<<20
	if size > req.MaxBody {
		return nil, &outbound.Error{Class: outbound.ClassTooLarge, Message: "The answer is larger than allowed."}
	}
	return &outbound.Response{Status: http.StatusOK, Header: http.Header{"Content-Type": {"image/png"}}, Body: make([]byte, size), URL: req.URL}, nil
}
