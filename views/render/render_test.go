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
		if err := render.Attribute(`a "quoted" title`).Write(b, "x.templ", 1, 2); err != nil {
			return err
		}
		b.WriteString("\">")
		if err := render.Text("1 < 2").Write(b, "x.templ", 1, 2); err != nil {
			return err
		}
		b.WriteString("</p>")
		return nil
	})

	t.Run("escapes values", func(t *testing.T) {
		t.Parallel()
		got, err := write(t, hello)
		if want := `<p title="a &#34;quoted&#34; title">1 &lt; 2</p>`; got != want || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, want)
		}
	})

	t.Run("keeps the order of nested templates", func(t *testing.T) {
		t.Parallel()
		got, err := write(t, render.Template(func(ctx render.Context, b *render.Buffer) error {
			b.WriteString("[")
			if err := hello.Render(ctx, b); err != nil {
				return err
			}
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
			return render.URL("javascript:alert(1)").Write(b, "x.templ", 1, 2)
		}))
		if err != nil || strings.Contains(got, "javascript") {
			t.Errorf("got %q, %v", got, err)
		}
	})

	t.Run("names the position of an expression that fails", func(t *testing.T) {
		t.Parallel()
		cause := errors.New("no such thing")
		_, err := write(t, render.Template(func(_ render.Context, b *render.Buffer) error {
			return render.Text("", cause).Write(b, "x.templ", 7, 2)
		}))
		if at := (templ.Error{}); !errors.As(err, &at) || at.Line != 7 || at.FileName != "x.templ" || !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
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
