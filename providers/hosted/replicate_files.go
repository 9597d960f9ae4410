package hosted

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strings"

	"sluice/providers"
)

// maxInline is the largest file that is sent inside a prediction, in bytes. The platform
// documents a limit of "256kb".
const maxInline = 256_000

// PutFile makes a file available to predictions: a small one as a data URL, a larger one by
// an upload, which the platform deletes after a day.
func (p *Replicate) PutFile(ctx context.Context, secret string, f Upload) (string, error) {
	if f.Size <= maxInline {
		inline, ok, err := inlineFile(f)
		if err != nil || ok {
			return inline, err
		}
	}
	head, foot, contentType := envelope(f)
	c := call{
		method: http.MethodPost, url: p.url("files"), unbounded: true, subject: "where files are uploaded",
		header: http.Header{"Content-Type": {contentType}},
		body: func() (io.ReadCloser, error) {
			content, err := f.Open()
			if err != nil {
				return nil, err
			}
			return &joined{io.MultiReader(bytes.NewReader(head), content, bytes.NewReader(foot)), content}, nil
		},
		length: -1,
	}
	if f.Size >= 0 {
		c.length = int64(len(head)) + f.Size + int64(len(foot))
	}
	var file struct{ URLs struct{ Get string } }
	if err := p.ask(ctx, secret, c, &file); err != nil {
		return "", uploadError(err)
	}
	if file.URLs.Get == "" {
		return "", badAnswer("Replicate took the file but did not say where it is.")
	}
	return file.URLs.Get, nil
}

// uploadError replaces the error of an upload that was refused as too large (413) by one
// with a workaround. It returns other errors unchanged.
func uploadError(err error) error {
	if e, ok := errors.AsType[*providers.Error](err); ok && e.Status == http.StatusRequestEntityTooLarge {
		return &providers.Error{Class: providers.ClassRejected, Status: e.Status, RequestID: e.RequestID,
			Message: "The file is larger than Replicate takes. Put it where the platform can read it and give its URL instead."}
	}
	return err
}

// inlineFile returns a file as a data URL. ok is false if the file exceeds the limit in
// spite of its stated size.
func inlineFile(f Upload) (text string, ok bool, err error) {
	content, err := f.Open()
	if err != nil {
		return "", false, &providers.Error{Class: providers.ClassBadRequest, Message: "The file to upload cannot be read."}
	}
	defer content.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(io.LimitReader(content, maxInline+1))
	if err != nil {
		return "", false, &providers.Error{Class: providers.ClassBadRequest, Message: "The file to upload cannot be read."}
	}
	if len(data) > maxInline {
		return "", false, nil
	}
	return "data:" + fileType(f.MIME) + ";base64," + base64.StdEncoding.EncodeToString(data), true, nil
}

// fileType returns a media type without parameters, because some models cannot parse
// parameters in data URLs.
func fileType(mimeType string) string {
	media, _, err := mime.ParseMediaType(mimeType)
	if err != nil || !strings.Contains(media, "/") {
		return "application/octet-stream"
	}
	return media
}

// envelope returns the parts of a multipart body before and after the file, so that the body
// can be streamed with a known length.
func envelope(f Upload) (head, foot []byte, contentType string) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", multipart.FileContentDisposition("content", cmp.Or(oneLine(f.Name, 200), "file")))
	h.Set("Content-Type", fileType(f.MIME))
	_, _ = w.CreatePart(h) // a buffer takes everything
	n := buf.Len()
	_ = w.Close()
	return buf.Bytes()[:n:n], buf.Bytes()[n:], w.FormDataContentType()
}

// joined concatenates readers and closes the one that must be closed.
type joined struct {
	io.Reader
	io.Closer
}

// Fetch streams a file that a prediction output. It sends the secret only to the platform's
// API.
func (p *Replicate) Fetch(ctx context.Context, secret, address string) (*Download, error) {
	if strings.HasPrefix(address, "data:") {
		return dataDownload(address)
	}
	client := p.files
	if u, err := url.Parse(address); err == nil && p.own(u) {
		client = p.ownFiles
	}
	resp, err := p.send(ctx, client, secret, call{method: http.MethodGet, url: address, unbounded: true, subject: "this file"})
	if err != nil {
		return nil, fetchError(err)
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	return &Download{
		Name: fileName(resp.Header.Get("Content-Disposition"), address), MIME: media,
		Size: resp.ContentLength, Body: &downloadBody{ReadCloser: resp.Body, ctx: ctx},
	}, nil
}

// fetchError explains why a file is gone: the platform deletes outputs, so one that was not
// copied in time is lost.
func fetchError(err error) error {
	e, ok := errors.AsType[*providers.Error](err)
	if !ok || e.Status != http.StatusNotFound && e.Status != http.StatusGone && e.Status != http.StatusForbidden {
		return err
	}
	return &providers.Error{Class: providers.ClassUnavailable, Status: e.Status, RequestID: e.RequestID,
		Message: "The output file of the model is gone. Replicate deletes output files after an hour."}
}

// fileName returns a name for a downloaded file: that in Content-Disposition, or else
// the last part of its URL.
func fileName(disposition, address string) string {
	if _, params, err := mime.ParseMediaType(disposition); err == nil && params["filename"] != "" {
		return cleanName(params["filename"])
	}
	u, err := url.Parse(address)
	if err != nil {
		return "file"
	}
	return cleanName(u.Path)
}

// cleanName returns the last segment of a path without characters that are unsafe in file
// systems or headers.
func cleanName(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = oneLine(strings.Trim(name, ". /"), 150)
	return cmp.Or(name, "file")
}

// dataDownload decodes a data URL, as which the platform returns small outputs.
func dataDownload(address string) (*Download, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(address, "data:"), ",")
	media, isBase64 := strings.CutSuffix(head, ";base64")
	content, err := []byte(nil), error(nil)
	if isBase64 {
		content, err = base64.StdEncoding.DecodeString(data)
	} else {
		var text string
		text, err = url.PathUnescape(data)
		content = []byte(text)
	}
	if !ok || err != nil {
		return nil, badAnswer("The model returned an invalid data URL.")
	}
	return &Download{Name: "file", MIME: fileType(media), Size: int64(len(content)), Body: io.NopCloser(bytes.NewReader(content))}, nil
}

// downloadBody is the body of a download that converts read errors.
type downloadBody struct {
	io.ReadCloser
	ctx context.Context
}

// Read converts errors of the transport to errors of package providers, by which steps
// decide whether to retry.
func (f *downloadBody) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if err != nil && err != io.EOF {
		err = transportError(f.ctx, err)
	}
	return n, err
}
