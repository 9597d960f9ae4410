package web

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/inflight"
	"sluice/handlers/web/conns"
)

// Limits of a form.
const (
	MaxForm  = 1 << 20  // bytes of all values together, unless a page sets another limit
	MaxParts = 1000     // values and files
	maxAfter = 64 << 10 // bytes of a multipart form beyond its values, such as headers of parts
)

// errUnreadable is returned for a malformed form, which no browser sends.
var errUnreadable = flow.Errorf(flow.CodeInputInvalid, "The form could not be read. Load the page again and try once more.")

// errNotForm is returned for a body of another type, in another encoding or compressed. To read it as a form would
// find no fields, or other values.
var errNotForm = flow.Errorf(flow.CodeUnsupportedMediaType, "Send the form as application/x-www-form-urlencoded or multipart/form-data, in UTF-8 and without compression.")

// keepFile stores a file of a form. It need not read it to the end.
type keepFile func(field string, part *multipart.Part) error

// ParseForm reads a form without files.
func (c *Call) ParseForm() error {
	_, err := c.ReadForm(MaxForm, nil)
	return err
}

// ReadForm is the only reader of forms; FormValue and PostForm return what it
// has read. limit bounds all values together, in bytes. Files are passed to keep,
// or skipped if it is nil. With an error it also returns the values before it.
func (c *Call) ReadForm(limit int64, keep keepFile) (url.Values, error) {
	r := c.Request()
	if !isForm(r) {
		return nil, errNotForm
	}
	whole := r.Body
	if keep == nil {
		if err := c.receiveForm(limit + maxAfter); err != nil {
			return nil, err
		}
		whole = r.Body
	} else { // no time limit while data keeps arriving, as for uploads to the API
		r.Body = conns.NewSlowBody(c.Response(), whole, c.s.Patience)
	}
	reader, err := r.MultipartReader()
	plain := errors.Is(err, http.ErrNotMultipart)
	switch {
	case plain:
		r.Body = http.MaxBytesReader(c.Response(), whole, limit)
		err = BodyError(r.ParseForm())
	case err != nil:
		err = errUnreadable
	default:
		err = c.readParts(reader, limit, keep)
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large && (plain || keep == nil) {
		err = FormTooLarge(limit)
	}
	if err == nil && !allText(r.PostForm) {
		err = errUnreadable
	}
	if err == nil {
		useLineFeeds(r.PostForm)
		useLineFeeds(r.Form)
		c.EndOfForm()
	}
	return r.PostForm, err
}

// isForm reports whether the body is a form in UTF-8, or empty.
func isForm(r *http.Request) bool {
	typ, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	compressed := !IsPlain(r.Header.Get("Content-Encoding"), "identity")
	switch {
	case r.ContentLength == 0 && r.Header.Get("Content-Encoding") == "": // a button without fields
		return true
	case typ == "multipart/form-data":
		return !compressed // ReadForm reports malformed parameters
	}
	return err == nil && typ == "application/x-www-form-urlencoded" && !compressed && IsPlain(params["charset"], "utf-8")
}

// IsPlain reports whether a header or parameter is empty or has one of the values, in any case.
func IsPlain(s string, values ...string) bool {
	return s == "" || slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(s, v) })
}

// CheckPart returns an error if the content of a part is encoded, which RFC 7578 does not allow. Package multipart decodes
// quoted-printable parts.
func CheckPart(part *multipart.Part) error {
	if how := part.Header.Get("Content-Transfer-Encoding"); !IsPlain(strings.TrimSpace(how), "7bit", "8bit", "binary") {
		return flow.Errorf(flow.CodeUnsupportedMediaType, "A part of the form is encoded as %.40q. Send its bytes as they are, without Content-Transfer-Encoding.", how)
	}
	return nil
}

// useLineFeeds replaces the CR LF that browsers send for each line break of a text area by what
// the person typed.
func useLineFeeds(form url.Values) {
	for _, values := range form {
		for i, v := range values {
			values[i] = strings.ReplaceAll(v, "\r\n", "\n")
		}
	}
}

// receiveForm receives a form without files completely before the memory for it is taken, so that a
// slow client occupies none.
func (c *Call) receiveForm(limit int64) error {
	r := c.Request()
	body, err := c.s.Memory.Receive(http.MaxBytesReader(c.Response(), r.Body, limit), false)
	if body == nil {
		return fmt.Errorf("receive a form: %w", err)
	}
	c.received = append(c.received, body)
	if err != nil {
		r.Body = io.NopCloser(failedReader{err}) // ReadForm reports it
		return nil
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/") { // whose values take it one by one
		if err := c.TakeMemory(memoryPerByte * body.Size); err != nil {
			return err
		}
	}
	r.Body = io.NopCloser(body.Reader())
	return nil
}

// FormTooLarge is the error for a form whose values exceed the limit, in bytes.
type FormTooLarge int64

// Error returns the message for the user.
func (e FormTooLarge) Error() string {
	return "This form is larger than " + flow.Size(int64(e)) + ". Shorten its values and send it again."
}

// Unwrap returns the flow.Error, which determines the status.
func (e FormTooLarge) Unwrap() error { return flow.Errorf(flow.CodeBodyTooLarge, "%s", e.Error()) }

// readParts reads a multipart form into PostForm.
func (c *Call) readParts(reader *multipart.Reader, limit int64, keep keepFile) error {
	r := c.Request()
	r.PostForm = url.Values{}
	defer func() {
		r.Form = r.URL.Query()
		for name, values := range r.PostForm {
			r.Form[name] = append(values[:len(values):len(values)], r.Form[name]...)
		}
	}()
	left := limit
	for range MaxParts {
		part, err := reader.NextPart()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return BodyError(err)
		}
		if err := CheckPart(part); err != nil {
			return err
		}
		switch {
		case isFile(part):
			if keep != nil && part.FileName() != "" {
				err = keep(part.FormName(), part)
			}
		case !isUTF8(part):
			err = errNotForm
		case part.FormName() != "":
			if left, err = c.readValue(r.PostForm, part, left); left < 0 {
				err = FormTooLarge(limit)
			}
		}
		if err != nil {
			return err
		}
	}
	return errUnreadable
}

// isUTF8 reports whether a part states no other encoding than UTF-8.
func isUTF8(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
	return err != nil || IsPlain(params["charset"], "utf-8", "us-ascii")
}

// isFile reports whether a part is a file, or a file field without a chosen
// file.
func isFile(part *multipart.Part) bool {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, file := params["filename"]
	return file && err == nil
}

// readValue adds a value and returns the rest of the limit, which is negative
// if the value was longer.
func (c *Call) readValue(values url.Values, part *multipart.Part, most int64) (left int64, err error) {
	text, err := c.ReadPart(part, most+1)
	if err != nil {
		return 0, BodyError(err)
	}
	values.Add(part.FormName(), string(text))
	return most - int64(len(text)), nil
}

// BodyError converts an error of reading a form to the error for the user. Several
// errors mean that the form is too large. Errors of the server, such as missing memory, stay as they are.
func BodyError(err error) error {
	_, large := errors.AsType[*http.MaxBytesError](err)
	_, own := errors.AsType[*flow.Error](err)
	if err == nil || large || own || errors.Is(err, inflight.ErrNoSpace) {
		return err
	}
	return errUnreadable
}

// EndOfForm removes the read deadline after the end of the body. A body that
// was not read to its end keeps it, because the rest is read before the
// response.
func (c *Call) EndOfForm() {
	if _, err := io.CopyN(io.Discard, c.Request().Body, maxAfter); err == io.EOF {
		_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Time{}) // recorders of tests have none
	}
}

// FormValue returns a value that ReadForm has read, or one of the query. Echo's
// own would read the body without limits and checks.
func (c *Call) FormValue(name string) string {
	if form := c.Request().Form; form != nil {
		return form.Get(name)
	}
	return c.QueryParam(name)
}

// failedReader returns an error of a body that was received before.
type failedReader struct{ err error }

// Read returns the error.
func (r failedReader) Read([]byte) (int, error) { return 0, r.err }
