package pages

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"time"

	"sluice/flow"
)

// addFile is POST a file for a field: the answer is its value.
func (c *call) addFile() error {
	if _, err := c.findFlow(); err != nil {
		return err
	}
	reader, err := c.Request().MultipartReader()
	if err != nil {
		return errUnreadable
	}
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			return flow.Errorf(flow.CodeInputInvalid, "No file came with the form. Choose one and try again.")
		}
		if err != nil {
			return errUnreadable
		}
		if part.FileName() == "" {
			continue
		}
		file, err := c.keepFile(part)
		if err != nil {
			return err
		}
		c.bodyRead()
		return c.JSON(http.StatusCreated, file.Value())
	}
}

// uploadTime is how long a file from a page may take.
const uploadTime = 15 * time.Minute

func (c *call) keepFile(part *multipart.Part) (*flow.File, error) {
	_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(uploadTime)) // recorders of tests have none
	content := &arriving{part: part}
	f, err := c.s.Files.SaveFile(c.ctx(), flow.NewFile{WorkspaceID: c.ws(), Name: part.FileName(), MIME: part.Header.Get("Content-Type"), MaxSize: c.s.MaxFile}, content)
	if content.broken != nil {
		return nil, content.broken
	}
	return f, err
}

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
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(uploadTime))
	http.ServeContent(c.Response(), c.Request(), "", f.CreatedAt, content)
	return nil
}
