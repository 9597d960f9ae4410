// Package render is what generated templates call, in place of the code that templ writes into
// each of them. It must not know any page.
//
// templ repeats the handling of buffers and errors in every template and after every write. That
// was half of the machine code of the pages, so ../generate replaces it with calls of this package. Writes
// are not checked: a buffer remembers its first error, and Template returns it.
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

// Template returns a component that calls f with a buffer over the writer, or with the writer if it is the
// buffer of the template around it. The error is that of f, or the first one of the writer.
func Template(f func(Context, *Buffer) error) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) (err error) {
		if err := ctx.Err(); err != nil {
			return err
		}
		buffer, existing := runtime.GetBuffer(w)
		if !existing {
			defer func() {
				if flushErr := runtime.ReleaseBuffer(buffer); err == nil {
					err = flushErr
				}
			}()
		}
		return f(templ.InitializeContext(ctx), buffer)
	})
}

// printable are the types of the expressions in templates.
type printable interface {
	~int | ~int64 | ~float64 | ~string | ~bool
}

// Value is the escaped text of an expression, or the error why it does not exist.
type Value struct {
	text string
	err  error
}

// Text returns the value of an expression between tags. An expression may return an error too.
//
//go:noinline
func Text[T printable](v T, errs ...error) Value {
	text, err := templ.JoinStringErrs(v, errs...)
	return Value{templ.EscapeString(text), err}
}

// Attribute returns the value of an attribute.
//
//go:noinline
func Attribute[T printable](v T, errs ...error) Value {
	text, err := runtime.NewAttributeExpression(v, errs...).Resolve(context.Background())
	return Value{text, err}
}

// URL returns the value of an attribute that browsers follow. Schemes that run scripts are
// replaced, unless v is a templ.SafeURL.
//
//go:noinline
func URL[T printable](v T, errs ...error) Value {
	text, err := runtime.NewAttributeExpression(v, errs...).ResolveURL(context.Background())
	return Value{text, err}
}

// Write writes the value, or returns its error with the position of the expression.
func (v Value) Write(w io.StringWriter, file string, line, column int) error {
	if v.err != nil {
		return templ.Error{Err: v.err, FileName: file, Line: line, Col: column}
	}
	_, err := w.WriteString(v.text)
	return err
}
