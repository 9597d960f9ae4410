package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"sluice/views/render"
)

func write(t *testing.T, c templ.Component) (string, error) {
	t.Helper()
	var out strings.Builder
	err := c.Render(t.Context(), &out)
	return out.String(), err
}

func TestTemplate_escapes_values_and_returns_the_first_error(t *testing.T) {
	t.Parallel()
	hello := render.Template(func(ctx render.Context, b *render.Buffer) error {
		b.WriteString("<p title=\"")
		render.Attribute(b, `a "quoted" title`)
		b.WriteString("\"")
		render.Attributes(ctx, b, "p", templ.Attributes{"data-of": "<x>"})
		b.WriteString(">")
		render.Text(b, "1 < 2")
		b.WriteString("</p>")
		return nil
	})

	t.Run("escapes values", func(t *testing.T) {
		t.Parallel()
		got, err := write(t, hello)
		if want := `<p title="a &#34;quoted&#34; title" data-of="&lt;x&gt;">1 &lt; 2</p>`; got != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})

	t.Run("keeps the order of nested templates", func(t *testing.T) {
		t.Parallel()
		got, err := write(t, render.Template(func(ctx render.Context, b *render.Buffer) error {
			b.WriteString("[")
			render.Component(ctx, b, hello)
			b.WriteString("]")
			return nil
		}))
		if err != nil || !strings.HasPrefix(got, "[<p") || !strings.HasSuffix(got, "</p>]") {
			t.Errorf("got %q, %v", got, err)
		}
	})

	t.Run("replaces links that run scripts", func(t *testing.T) {
		t.Parallel()
		got, err := write(t, render.Template(func(_ render.Context, b *render.Buffer) error {
			render.URL(b, "javascript:alert(1)")
			return nil
		}))
		if err != nil || strings.Contains(got, "javascript") {
			t.Errorf("got %q, %v", got, err)
		}
	})

	t.Run("ends with the error of a component within", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("no such thing")
		within := render.Template(func(ctx render.Context, b *render.Buffer) error {
			render.Component(ctx, b, render.Template(func(render.Context, *render.Buffer) error { return cause }))
			b.WriteString("never")
			return nil
		})
		got, err := write(t, render.Template(func(ctx render.Context, b *render.Buffer) error {
			b.WriteString("before")
			render.Component(ctx, b, within)
			b.WriteString("never")
			return nil
		}))
		if got != "before" || !errors.Is(err, cause) {
			t.Errorf("got %q, %v", got, err)
		}
	})

	t.Run("passes a panic on", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if p := recover(); p != "a fault" {
				t.Errorf("recovered %v", p)
			}
		}()
		write(t, render.Template(func(render.Context, *render.Buffer) error { panic("a fault") }))
		t.Error("there was no panic")
	})

	t.Run("returns the error of a writer that no write looked at", func(t *testing.T) {
		t.Parallel()
		err := render.Template(func(_ render.Context, b *render.Buffer) error {
			b.WriteString(strings.Repeat("x", 1<<16))
			return nil
		}).Render(t.Context(), broken{})
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("writes nothing after the request has ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var out strings.Builder
		if err := hello.Render(ctx, &out); !errors.Is(err, context.Canceled) || out.Len() > 0 {
			t.Errorf("got %q, %v", &out, err)
		}
	})
}

var errBroken = errors.New("broken")

// broken refuses to be written to.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
