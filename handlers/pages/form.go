package pages

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"time"

	"sluice/flow"
	"sluice/handlers/steady"
)

// Bounds of a form.
const (
	maxForm  = 1 << 20 // bytes of all values together, where a page says nothing else
	maxParts = 1000    // values and files
	maxAfter = 64 << 10
)

// errUnreadable is a form that a browser does not send.
var errUnreadable = flow.Errorf(flow.CodeInputInvalid, "The form could not be read. Load the page again and try once more.")

// keepFile takes one file of a form. What it does not read is skipped.
type keepFile func(field string, part *multipart.Part) error

// form reads a form without files.
func (c *call) form() error {
	_, err := c.readForm(maxForm, nil)
	return err
}

// readForm is the only reader of forms: FormValue and PostForm have what it read.
// Values may have limit bytes together. Files go to keep; without one they are
// skipped. With an error come the values before it.
func (c *call) readForm(limit int64, keep keepFile) (url.Values, error) {
	r := c.Request()
	whole := r.Body
	if keep == nil {
		r.Body = http.MaxBytesReader(c.Response(), whole, limit+maxAfter)
	} else { // as long as it keeps coming, as an upload to the API
		r.Body = steady.New(c.Response(), whole, c.s.patience)
	}
	reader, err := r.MultipartReader()
	plain := errors.Is(err, http.ErrNotMultipart)
	switch {
	case plain:
		r.Body = http.MaxBytesReader(c.Response(), whole, limit)
		err = bodyError(r.ParseForm())
	case err != nil:
		err = errUnreadable
	default:
		err = c.readParts(reader, limit, keep)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large && (plain || keep == nil) {
		err = formTooLarge(limit)
	}
	if err == nil && !allText(r.PostForm) {
		err = errUnreadable
	}
	if err == nil {
		c.endOfForm()
	}
	return r.PostForm, err
}

// formTooLarge is a form whose values have more bytes than its limit.
type formTooLarge int64

// Error is the sentence for the person.
func (e formTooLarge) Error() string {
	return "This form is larger than " + flow.Size(int64(e)) + ". Shorten what is in it and send it again."
}

// Unwrap is what the door for errors knows.
func (e formTooLarge) Unwrap() error { return flow.Errorf(flow.CodeBodyTooLarge, "%s", e.Error()) }

// readParts reads a form of parts into PostForm.
func (c *call) readParts(reader *multipart.Reader, limit int64, keep keepFile) error {
	r := c.Request()
	r.PostForm = url.Values{}
	defer func() {
		r.Form = r.URL.Query()
		for name, values := range r.PostForm {
			r.Form[name] = append(values[:len(values):len(values)], r.Form[name]...)
		}
	}()
	left := limit
	for range maxParts {
		part, err := reader.NextPart()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			err = bodyError(err)
		case isFile(part):
			if keep != nil && part.FileName() != "" {
				err = keep(part.FormName(), part)
			}
		case part.FormName() != "":
			if left, err = readValue(r.PostForm, part, left); left < 0 {
				err = formTooLarge(limit)
			}
		}
		if err != nil {
			return err
		}
	}
	return errUnreadable
}

// isFile reports whether a part is a file, or a file field in which nothing was
// chosen.
func isFile(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, file := params["filename"]
	return file && err == nil
}

// readValue adds a value. What is left of most is negative if it was longer.
func readValue(values url.Values, part *multipart.Part, most int64) (left int64, err error) {
	text, err := io.ReadAll(io.LimitReader(part, most+1))
	if err != nil {
		return 0, bodyError(err)
	}
	values.Add(part.FormName(), string(text))
	return most - int64(len(text)), nil
}

// bodyError is why a form was not read to its end. That it is too large is told
// in more ways than one.
func bodyError(err error) error {
	if _, large := errors.AsType[*http.MaxBytesError](err); large || err == nil {
		return err
	}
	return errUnreadable
}

// endOfForm lifts the time limit of a body that came to its end. One that has
// more to come keeps it, since the rest is read before the answer.
func (c *call) endOfForm() {
	if _, err := io.CopyN(io.Discard, c.Request().Body, maxAfter); err == io.EOF {
		_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) // recorders of tests have none
	}
}

// FormValue returns a value that readForm read, or else one of the query. Echo's
// own would read the body past all bounds and checks.
func (c *call) FormValue(name string) string {
	if form := c.Request().Form; form != nil {
		return form.Get(name)
	}
	return c.QueryParam(name)
}
