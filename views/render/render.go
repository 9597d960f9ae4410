// Package render is what generated templates call, in place of the code that templ writes into
// each of them. It must not know any page.
//
// templ repeats the handling of buffers and errors in every template and after every write. That
// was half of the machine code of the pages, so ../generate replaces it with calls of this package. Errors
// are not checked where they occur: a buffer remembers the first error of its writer, other errors end the rendering, and
// Template returns them.
package render

import (
	"context"
	"io"

	"github.com/a-h/templ"
	"github.com/a-h/templ/runtime"
)

// Context spares templates the import of context.
type Context = context.Context

// Buffer is what a template writes to.
type Buffer = runtime.Buffer

// failure is the panic with which an error ends the rendering. It leaves out the checks after each of thousands of calls.
type failure struct{ error }

// Template returns a component that calls f with a buffer over the writer, or with the writer if it is the
// buffer of the template around it. The error is that of f or of anything within, or the first one of the writer.
//
// Like the others, it is not inlined: each template would have a copy of the closure.
//
//go:noinline
func Template(f func(Context, *Buffer) error) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		buffer, existing := runtime.GetBuffer(w)
		if !existing {
			defer func() {
				switch p := recover().(type) {
				case nil:
				case failure:
					err = p.error
				default:
					panic(p)
				}
				if flushErr := runtime.ReleaseBuffer(buffer); err == nil {
					err = flushErr
				}
			}()
		}
		return f(templ.InitializeContext(ctx), buffer)
	})
}

// check ends the rendering if there is an error.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Component writes a component within a template.
//
//go:noinline
func Component(ctx Context, b *Buffer, c templ.Component) { check(c.Render(ctx, b)) }

// Attributes writes a list of attributes of an element.
//
//go:noinline
func Attributes(ctx Context, b *Buffer, element string, list templ.Attributer) {
	check(runtime.RenderAttributes(ctx, b, b, element, list))
}

// printable are the types of the expressions in templates.
type printable interface {
	~int | ~int64 | ~float64 | ~string | ~bool
}

// Text writes the value of an expression between tags.
//
//go:noinline
func Text[T printable](b *Buffer, v T) {
	text, _ := templ.JoinStringErrs(v) // which returns only errors that it is given
	b.WriteString(templ.EscapeString(text))
}

// Attribute writes the value of an attribute.
//
//go:noinline
func Attribute[T printable](b *Buffer, v T) {
	text, err := runtime.NewAttributeExpression(v).Resolve(context.Background())
	check(err)
	b.WriteString(text)
}

// URL writes the value of an attribute that browsers follow. Schemes that run scripts are
// replaced, unless v is a templ.SafeURL.
//
//go:noinline
func URL[T printable](b *Buffer, v T) {
	text, err := runtime.NewAttributeExpression(v).ResolveURL(context.Background())
	check(err)
	b.WriteString(text)
}
