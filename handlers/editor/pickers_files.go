package editor

import (
	"mime/multipart"
	"net/http"
	"time"

	"sluice/flow"
	"sluice/flow/media"
	"sluice/handlers/web"
)

// uploadFile is POST /flows/{id}/files: it stores a file for a field and
// responds with its value.
func uploadFile(c *call) error {
	if _, err := c.FindFlow(); err != nil {
		return err
	}
	var file *flow.File
	_, err := c.ReadForm(web.MaxForm, func(_ string, part *multipart.Part) (err error) {
		if file == nil {
			file, err = storeFile(c, part)
		}
		return err
	})
	if err != nil {
		return err
	}
	if file == nil {
		return flow.Errorf(flow.CodeInputInvalid, "No file was uploaded. Choose one and try again.")
	}
	return c.JSON(http.StatusCreated, file.Value())
}

// storeFile stores an uploaded file. If reading the upload fails, it returns that
// error and not the error of the store that follows from it.
func storeFile(c *call, part *multipart.Part) (*flow.File, error) {
	content := &web.UploadReader{Source: part}
	f, err := c.s.Store.SaveFile(c.Ctx(), flow.NewFile{WorkspaceID: c.WorkspaceID(), Name: part.FileName(), MIME: part.Header.Get("Content-Type"), MaxSize: c.s.MaxFile}, content)
	if content.Err != nil {
		return nil, content.Err
	}
	return f, err
}

// downloadTime bounds the download of a file.
const downloadTime = 15 * time.Minute

// showFile is GET /files/{id}: a file of the workspace, for its members. The
// content security policy keeps uploaded pages from running scripts.
func showFile(c *call) error {
	f, content, err := c.s.Store.OpenFile(c.Ctx(), c.WorkspaceID(), c.Param("id"))
	if flow.IsNotFound(err) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	defer content.Close()
	h := c.Response().Header()
	h.Set("Content-Type", media.ContentType(f))
	h.Set("Content-Disposition", media.Disposition(f))
	h.Set("Content-Security-Policy", media.Policy)
	h.Set("ETag", media.ETag(f))
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	_ = http.NewResponseController(c.Response()).SetWriteDeadline(time.Now().Add(downloadTime))
	http.ServeContent(c.Response(), c.Request(), "", f.CreatedAt, content)
	return nil
}
