package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"

	"sluice/flow"
)

// Upload sends a local file to the server and returns the file value. Like any upload, the
// server keeps the file as long as a run uses it.
func (c *Client) Upload(ctx context.Context, path string) (map[string]any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a directory; give one file", path)
	}
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	req, err := uploadRequest(ctx, c.Base+"/v1/files", f, info)
	if err != nil {
		return nil, err
	}
	resp, err := c.send(req)
	if err != nil {
		return nil, fmt.Errorf("%s was rejected: %w", path, err)
	}
	defer resp.Body.Close()
	var created struct {
		File string `json:"file"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&created); err != nil {
		return nil, errNotSluice(c.Base)
	}
	return map[string]any{"file": created.File}, nil
}

// uploadRequest returns a multipart request that streams a file. It has a Content-Length and
// expects 100 Continue, so that the server can reject a large file before it is sent.
func uploadRequest(ctx context.Context, url string, f *os.File, info os.FileInfo) (*http.Request, error) {
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("file", filepath.Base(f.Name())))
	if t := mime.TypeByExtension(filepath.Ext(f.Name())); t != "" {
		header.Set("Content-Type", t)
	}
	if _, err := form.CreatePart(header); err != nil {
		return nil, err
	}
	head := b.Len()
	if err := form.Close(); err != nil {
		return nil, err
	}
	frame := b.Bytes() // the multipart headers and the closing boundary
	body := io.MultiReader(bytes.NewReader(frame[:head]), f, bytes.NewReader(frame[head:]))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = -1
	if info.Mode().IsRegular() {
		req.ContentLength = int64(len(frame)) + info.Size()
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Expect", "100-continue")
	return req, nil
}

// Download opens the content of a file. The caller closes it.
func (c *Client) Download(ctx context.Context, id string) (io.ReadCloser, error) {
	if !flow.ValidID(flow.PrefixFile, id) {
		return nil, fmt.Errorf("%q is not the ID of a file", id)
	}
	resp, err := c.Do(ctx, http.MethodGet, "/v1/files/"+id, "*/*", nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
