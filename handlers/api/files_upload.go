package api

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"

	"sluice/flow"
	"sluice/handlers/web"
	"sluice/handlers/web/slowbody"
)

// filePart is the one part that an upload has.
const fileField = "file"

// formRoom is what the boundaries and headers of a form may take beside the
// file.
const formOverhead = 64 << 10

// upload is a file on its way from the request into the store. It is read as
// it is kept, so it is never whole in memory.
type upload struct {
	c     *Call
	body  io.Reader
	parts *multipart.Reader
	part  *multipart.Part
	err   error // what the reading ended with, but for io.EOF
}

// receiveFile reads the file of a request into the store.
func (c *Call) receiveFile() (*flow.File, error) {
	u, err := c.newUpload()
	if err != nil {
		return nil, err
	}
	return u.save(c.Request().Context())
}

// newUpload reads as far as the file begins. What is wrong with the form is
// told before anything is kept.
func (c *Call) newUpload() (*upload, error) {
	boundary, err := formBoundary(c.Request().Header)
	if err != nil {
		return nil, err
	}
	u, most := &upload{c: c}, c.s.MaxFile+formOverhead
	if c.Request().ContentLength > most {
		return nil, u.tooLarge()
	}
	u.body = http.MaxBytesReader(c.Response().Writer, slowbody.New(c.Response(), c.Request().Body, c.s.bodyTimeout), most)
	u.parts = multipart.NewReader(u.body, boundary)
	u.part, err = u.parts.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, invalidFile("required", "the form has no part; send the file as the part \"file\"")
	case err != nil:
		return nil, u.problem(err)
	}
	return u, checkPart(u.part)
}

// formBoundary refuses everything but multipart/form-data.
func formBoundary(h http.Header) (string, error) {
	refuse := flow.Errorf(flow.CodeUnsupportedMediaType, "The body must be multipart/form-data with one part, \"file\", without compression. With curl: -F file=@cat.png.")
	if e := h.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", refuse
	}
	values := h.Values("Content-Type")
	if len(values) != 1 {
		return "", refuse
	}
	media, params, err := mime.ParseMediaType(values[0])
	if err != nil || media != typeForm || params["boundary"] == "" {
		return "", refuse
	}
	return params["boundary"], nil
}

func checkPart(p *multipart.Part) error {
	switch {
	case p.FormName() != fileField:
		return invalid([]flow.Problem{{Pointer: flow.Pointer(p.FormName()), Code: "unknown", Detail: "this path takes one part, \"file\", and nothing else"}})
	case p.FileName() == "":
		return invalidFile("wrong_type", "the part \"file\" is a text and not a file; give it a file name. With curl: -F file=@cat.png")
	}
	return nil
}

func invalidFile(code, detail string) error {
	return invalid([]flow.Problem{{Pointer: flow.Pointer(fileField), Code: code, Detail: detail}})
}

// save hands the file to the store, which decides what of its name and type can
// be believed.
func (u *upload) save(ctx context.Context) (*flow.File, error) {
	f, err := u.c.s.Files.SaveFile(ctx, flow.NewFile{
		WorkspaceID: u.c.Key.WorkspaceID, KeyID: u.c.Key.ID, MaxSize: u.c.s.MaxFile,
		Name: u.part.FileName(), MIME: u.part.Header.Get("Content-Type"),
	}, u)
	if err != nil && u.err != nil {
		return nil, u.err
	}
	return f, err
}

// Read gives the content. Its end is told only when nothing follows, so that a
// form which is refused for its end leaves no file behind.
func (u *upload) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	n, err := u.part.Read(p)
	if errors.Is(err, io.EOF) {
		if err = u.end(); err == nil {
			return n, io.EOF
		}
	}
	if err != nil {
		u.err = u.problem(err)
		return n, u.err
	}
	return n, nil
}

// end wants the form to end after the file and the request after the form.
func (u *upload) end() error {
	next, err := u.parts.NextPart()
	switch {
	case err == nil && next.FormName() == fileField:
		return invalidFile("duplicate", "the form has more than one file; upload them one by one")
	case err == nil:
		return checkPart(next)
	case !errors.Is(err, io.EOF):
		return err
	}
	if _, err := io.Copy(io.Discard, u.body); err != nil {
		return err
	}
	web.ClearReadDeadline(u.c.Response())
	return nil
}

// problem says why a form could not be read.
func (u *upload) problem(err error) error {
	if _, ours := errors.AsType[*flow.Error](err); ours {
		return err
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return u.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return invalidFile("incomplete", "the upload came too slowly, or stopped; send it again")
	}
	return invalidFile("incomplete", "the form ends too early or is not written as multipart/form-data; send it again")
}

func (u *upload) tooLarge() error {
	return flow.Errorf(flow.CodeBodyTooLarge, "A file may have at most %s.", flow.Size(u.c.s.MaxFile))
}
