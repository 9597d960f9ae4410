package nodes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"sluice/flow"
	"sluice/providers"
)

// dot is the signature of a PNG file, which is enough to detect its type.
const dot = "\x89PNG\r\n\x1a\n"

func draw(config map[string]any) use {
	u := use{kind: "image", config: map[string]any{"model": "openai/gpt-image-1", "prompt": "a cat"}}
	for name, value := range config {
		u.config[name] = value
	}
	return u
}

func TestImage(t *testing.T) {
	t.Parallel()
	t.Run("stores generated images", func(t *testing.T) {
		t.Parallel()
		w, got := newFixture(), &calls{}
		u := draw(map[string]any{"count": number("2"), "size": "512x512", "quality": "low", "background": "opaque", "format": "png", "prompt": "{{what}}"})
		u.ports = map[string]any{"what": "a dog"}
		r := u.executeIn(t, w, Deps{Providers: fakeProviders{got}})
		if r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		list := r.Outputs["images"].([]any)
		if len(list) != 2 {
			t.Fatalf("got %v", list)
		}
		same(t, "image", r.Outputs["image"], list[0])
		for i, want := range []string{"picture 1 of a dog", "picture 2 of a dog"} {
			if content := w.files.content(t, list[i]); content != want {
				t.Errorf("kept %q, want %q", content, want)
			}
		}
		same(t, "name", member(list[1], "name"), "image-2.png")
		same(t, "type", member(list[1], "mime"), "image/png")
		request := got.requests[0].(providers.ImageRequest)
		request.Key = ""
		if want := (providers.ImageRequest{Model: "gpt-image-1", Prompt: "a dog", Size: "512x512", Quality: "low", Background: "opaque", Format: "png", Count: 2}); request.Images != nil ||
			request.Model != want.Model || request.Prompt != want.Prompt || request.Size != want.Size || request.Quality != want.Quality ||
			request.Background != want.Background || request.Format != want.Format || request.Count != want.Count {
			t.Errorf("sent %+v, want %+v", request, want)
		}
		if r.Usage.InputTokens != 2 {
			t.Errorf("usage %+v", r.Usage)
		}
	})
	t.Run("edits images within a mask", func(t *testing.T) {
		t.Parallel()
		w, got := newFixture(), &calls{}
		u := draw(map[string]any{"images": w.files.put(t, "cat", "image/png", dot+"cat"), "mask": "data:image/png;base64,iVBORw0KGgo="})
		if r := u.executeIn(t, w, Deps{Providers: fakeProviders{got}}); r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		request := got.requests[0].(providers.ImageRequest)
		if len(request.Images) != 1 || read(t, request.Images[0]) != dot+"cat" || request.Images[0].Name != "cat.png" || read(t, *request.Mask) != dot {
			t.Errorf("sent %+v", request)
		}
	})
	for _, c := range []struct {
		name          string
		config, ports map[string]any
		code          flow.Code
		says          string
	}{
		{"an empty prompt", nil, map[string]any{"prompt": ""}, flow.CodeInputInvalid, `"prompt" is empty`},
		{"too many", nil, map[string]any{"count": number("11")}, flow.CodeInputInvalid, `"count" must be`},
		{"an unknown format", nil, map[string]any{"format": "bmp"}, flow.CodeInputInvalid, `"format" must be one of png, jpeg, webp`},
		{"an unknown background", nil, map[string]any{"background": "green"}, flow.CodeInputInvalid, `"background" must be one of`},
		{"a mask alone", map[string]any{"mask": "data:image/png;base64,iVBORw0KGgo="}, nil, flow.CodeInputInvalid, "no image to edit"},
		{"no model", nil, map[string]any{"model": ""}, flow.CodeProviderAuth, "No model is chosen. Choose one such as openai/gpt-image-1"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			u := draw(c.config)
			u.ports = c.ports
			has(t, u.fails(t, fakes(), c.code).Message, c.says)
		})
	}
	t.Run("rejects a provider that cannot edit images", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		w.environment["xai"] = flow.Access{Provider: "xai", Secret: "secret-of-xai"}
		r := draw(map[string]any{"model": "xai/grok-image", "images": []any{"data:image/png;base64,iVBORw0KGgo="}}).executeIn(t, w, fakes())
		if r.Error == nil || r.Error.Code != flow.CodeModelIncompatible {
			t.Fatal(r.Error)
		}
		has(t, r.Error.Message, "xAI cannot edit images", "openai")
	})
}

// read returns the content of media and checks that it can be opened twice.
func read(t *testing.T, m providers.Media) string {
	t.Helper()
	var last string
	for range 2 {
		content, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if closed := content.Close(); err != nil || closed != nil || int64(len(data)) != m.Size {
			t.Fatalf("%d of %d bytes, %v, %v", len(data), m.Size, err, closed)
		}
		last = string(data)
	}
	return last
}

// drawn returns given images and counts the closed bodies.
type drawn struct {
	fakeProviders
	bodies []io.Reader
	closed *atomic.Int32
}

type countedBody struct {
	io.Reader
	closed *atomic.Int32
}

func (b countedBody) Close() error { b.closed.Add(1); return nil }

func (d drawn) Image(context.Context, providers.Endpoint, providers.ImageRequest) (*providers.ImageResult, error) {
	result := &providers.ImageResult{Usage: providers.Usage{InputTokens: 9}}
	for _, b := range d.bodies {
		result.Images = append(result.Images, providers.Blob{MIME: "image/png", Body: countedBody{b, d.closed}})
	}
	return result, nil
}

func TestImage_reports_failures(t *testing.T) {
	t.Parallel()
	broken := &providers.Error{Class: providers.ClassUnavailable, Message: "The answer of OpenAI broke off.", Retryable: true}
	for _, c := range []struct {
		name   string
		bodies []io.Reader
		limit  int64
		code   flow.Code
		says   string
	}{
		{"none is made", nil, 0, flow.CodeOutputInvalid, "OpenAI returned no image"},
		{"one breaks off", []io.Reader{strings.NewReader("a"), iotest.ErrReader(broken), strings.NewReader("c")}, 0, flow.CodeProviderUnavailable, "broke off. Model: openai/gpt-image-1."},
		{"one is too large", []io.Reader{bytes.NewReader(make([]byte, 20)), strings.NewReader("b")}, 10, flow.CodeOutputInvalid, "larger than the limit of a file"},
		{"the store fails", []io.Reader{iotest.ErrReader(errors.New("disk")), strings.NewReader("b")}, 0, flow.CodeInternal, "inside Sluice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, d := newFixture(), drawn{bodies: c.bodies, closed: &atomic.Int32{}}
			w.files.limit = c.limit
			r := draw(map[string]any{"count": number("3")}).executeIn(t, w, Deps{Providers: d})
			if r.Error == nil || r.Error.Code != c.code {
				t.Fatalf("got %v, want %s", r.Error, c.code)
			}
			has(t, r.Error.Message, c.says)
			if got := d.closed.Load(); int(got) != len(c.bodies) {
				t.Errorf("closed %d of %d bodies", got, len(c.bodies))
			}
			if r.Usage.InputTokens != 9 {
				t.Errorf("usage %+v", r.Usage)
			}
		})
	}
}
