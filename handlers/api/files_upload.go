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
	"sluice/handlers/web/conns"
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

// newUpload reads the form up to the content of the file, so that most malformed forms are
// rejected before anything is stored.
func (c *Call) newUpload() (*upload, error) {
	media, params := contentType(c.Request().Header)
	if media != typeForm || params["boundary"] == "" {
		return nil, flow.Errorf(flow.CodeUnsupportedMediaType, "The body must be multipart/form-data with one part, \"file\", without compression. With curl: -F file=@cat.png.")
	}
	u, limit := &upload{c: c}, c.s.MaxFile+formOverhead
	if c.Request().ContentLength > limit {
		return nil, u.tooLarge()
	}
	u.body = http.MaxBytesReader(c.Response().Writer, conns.NewSlowBody(c.Response(), c.Request().Body, c.s.bodyTimeout), limit)
	u.parts = multipart.NewReader(u.body, params["boundary"])
	var err error
	u.part, err = u.parts.NextPart()
	switch {
	case errors.Is(err, io.EOF):
		return nil, invalidFile("required", "the form is empty; send the file as the part \"file\"")
	case err != nil:
		return nil, u.readError(err)
	}
	return u, checkPart(u.part)
}

// checkPart returns an error unless the part is the file.
func checkPart(p *multipart.Part) error {
	switch {
	case p.FormName() != openapi.FileField:
		return problems{{Pointer: flow.Pointer(p.FormName()), Code: "unknown", Detail: "wanted a single part, \"file\""}}.err()
	case p.FileName() == "":
		return invalidFile("wrong_type", "the part \"file\" has no file name, so it is a text; add a file name. With curl: -F file=@cat.png")
	}
	return web.CheckPart(p)
}

// invalidFile returns the error for a form with a problem in the part "file".
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
		if err = u.checkEnd(); err == nil {
			return n, io.EOF
		}
	}
	if err != nil {
		u.err = u.readError(err)
		return n, u.err
	}
	return n, nil
}

// checkEnd checks that nothing follows the file in the form, and discards what follows the form.
func (u *upload) checkEnd() error {
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

// readError converts an error of reading the form to the error for the client.
func (u *upload) readError(err error) error {
	if _, isOwn := errors.AsType[*flow.Error](err); isOwn {
		return err
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return u.tooLarge()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return invalidFile("incomplete", "the upload was too slow or stopped; send it again")
	}
	return invalidFile("incomplete", "the form is incomplete or is not valid multipart/form-data; send it again")
}

// tooLarge returns the error for a file that exceeds Config.MaxFile.
func (u *upload) tooLarge() error {
	return flow.Errorf(flow.CodeBodyTooLarge, "A file may have at most %s.", flow.Size(u.c.s.MaxFile))
}
