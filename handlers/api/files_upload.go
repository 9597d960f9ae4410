package api

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"os"

	"sluice/flow"
	"sluice/handlers/api/openapi"
	"sluice/handlers/web"
	"sluice/handlers/web/slowbody"
)

// formOverhead bounds the boundaries and headers of a form, in bytes.
const formOverhead = 64 << 10

// upload reads the file of a request while the store writes it, so that it is never
// in memory as a whole. Forms of the dashboard, with other fields and errors, are
// read by web.Call.ReadForm.
type upload struct {
	c     *Call
	body  io.Reader
	parts *multipart.Reader
	part  *multipart.Part
	err   error // of reading; nil at io.EOF
}

// receiveFile stores the file of a request.
func (c *Call) receiveFile() (*flow.File, error) {
	u, err := c.newUpload()
	if err != nil {
		return nil, err
	}
	f, err := c.s.Files.SaveFile(c.Request().Context(), flow.NewFile{
		WorkspaceID: c.Key.WorkspaceID, KeyID: c.Key.ID, MaxSize: c.s.MaxFile,
		Name: u.part.FileName(), MIME: u.part.Header.Get("Content-Type"),
	}, u)
	if err != nil && u.err != nil {
		return nil, u.err
	}
	return f, err
}

// newUpload reads the form up to the content of the file, and returns an error for a
// malformed form before anything is stored.
func (c *Call) newUpload() (*upload, error) {
	media, params := contentType(c.Request().Header)
	if media != typeForm || params["boundary"] == "" {
		return nil, flow.Errorf(flow.CodeUnsupportedMediaType, "The body must be multipart/form-data with one part, \"file\", without compression. With curl: -F file=@cat.png.")
	}
	u, most := &upload{c: c}, c.s.MaxFile+formOverhead
	if c.Request().ContentLength > most {
		return nil, u.tooLarge()
	}
	u.body = http.MaxBytesReader(c.Response().Writer, slowbody.New(c.Response(), c.Request().Body, c.s.bodyTimeout), most)
	u.parts = multipart.NewReader(u.body, params["boundary"])
	var err error
	u.part, err = u.parts.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, invalidFile("required", "the form has no part; send the file as the part \"file\"")
	case err != nil:
		return nil, u.problem(err)
	}
	return u, checkPart(u.part)
}

// checkPart returns an error unless a part is the file.
func checkPart(p *multipart.Part) error {
	switch {
	case p.FormName() != openapi.FileField:
		return problems{{Pointer: flow.Pointer(p.FormName()), Code: "unknown", Detail: "this path takes one part, \"file\", and nothing else"}}.err()
	case p.FileName() == "":
		return invalidFile("wrong_type", "the part \"file\" is a text and not a file; give it a file name. With curl: -F file=@cat.png")
	}
	return nil
}

// invalidFile returns the error for a form with a problem of its file.
func invalidFile(code, detail string) error {
	return problems{{Pointer: flow.Pointer(openapi.FileField), Code: code, Detail: detail}}.err()
}

// Read implements io.Reader. It reports the end of the file only after the end of the
// form was checked, so that the store discards the file of an invalid form.
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

// end checks that the form ends after the file and the request after the form.
func (u *upload) end() error {
	next, err := u.parts.NextPart()
	switch {
	case err == nil && next.FormName() == openapi.FileField:
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

// problem returns the error for a form that could not be read.
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

// tooLarge is the error for a file beyond the limit of the server.
func (u *upload) tooLarge() error {
	return flow.Errorf(flow.CodeBodyTooLarge, "A file may have at most %s.", flow.Size(u.c.s.MaxFile))
}
