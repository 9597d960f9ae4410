package pages

import (
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/handlers/steady"
)

// addFile is POST a file for a field: the answer is its value.
func (c *call) addFile() error {
	if _, err := c.findFlow(); err != nil {
		return err
	}
	reader, err := c.multipart()
	if err != nil {
		return errUnreadable
	}
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			return flow.Errorf(flow.CodeInputInvalid, "No file came with the form. Choose one and try again.")
		}
		if err != nil {
			return c.broken(errUnreadable)
		}
		if part.FileName() == "" {
			continue
		}
		file, err := c.keepFile(part)
		if err != nil {
			return c.broken(err)
		}
		c.multipartRead()
		return c.JSON(http.StatusCreated, file.Value())
	}
}

// multipart begins to read a form with files. It may take long as long as it
// keeps coming, as an upload to the API may.
func (c *call) multipart() (*multipart.Reader, error) {
	r := c.Request()
	whole := r.Body
	r.Body = steady.New(c.Response(), whole, c.s.patience)
	reader, err := r.MultipartReader()
	if err != nil {
		r.Body = whole
	}
	return reader, err
}

// broken is why a form with files was not read to its end. net/http ends a
// request with a body that stops; the answer that says so must not end with it.
func (c *call) broken(err error) error {
	c.SetRequest(c.Request().WithContext(context.WithoutCancel(c.ctx())))
	return err
}

// maxAfter is how many bytes may follow the last part of a form that is taken.
const maxAfter = 64 << 10

// multipartRead lifts the time limit of a form with files that came to its end.
// One that has more to come keeps it, since the rest is read before the answer.
func (c *call) multipartRead() {
	if _, err := io.CopyN(io.Discard, c.Request().Body, maxAfter); err == io.EOF {
		c.bodyRead()
	}
}

func (c *call) keepFile(part *multipart.Part) (*flow.File, error) {
	content := &arriving{part: part}
	f, err := c.s.Files.SaveFile(c.ctx(), flow.NewFile{WorkspaceID: c.ws(), Name: part.FileName(), MIME: part.Header.Get("Content-Type"), MaxSize: c.s.MaxFile}, content)
	if content.broken != nil {
		return nil, content.broken
	}
	return f, err
}

// downloadTime is how long a file may take on its way to a page.
const downloadTime = 15 * time.Minute

// showFile is GET a file of the workspace, for its members.
func (c *call) showFile() error {
	f, content, err := c.s.Files.OpenFile(c.ctx(), c.ws(), c.Param("id"))
	if errors.Is(err, &flow.Error{Code: flow.CodeNotFound}) {
		return errNotFound
	}
	if err != nil {
		return err
	}
	defer content.Close()
	h := c.Response().Header()
	h.Set("Content-Type", f.ContentType())
	h.Set("Content-Disposition", f.Disposition())
	h.Set("Content-Security-Policy", flow.FilePolicy)
	h.Set("ETag", f.ETag())
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(downloadTime))
	http.ServeContent(c.Response(), c.Request(), "", f.CreatedAt, content)
	return nil
}
