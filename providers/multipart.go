package providers

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime/multipart"
	"net/textproto"
	"strings"
)

// upload is a multipart body that reads its files as it is sent, so that memory use does not
// depend on their size.
type upload struct {
	parts  []io.Reader
	files  []*lazyFile
	frame  bytes.Buffer // bytes between files
	writer *multipart.Writer
	length int64 // -1 if the size of a file is unknown
	err    error
}

// newUpload returns an empty multipart form.
func newUpload() *upload {
	u := &upload{}
	u.writer = multipart.NewWriter(&u.frame)
	return u
}

// field adds a value unless it is empty.
func (u *upload) field(name, value string) {
	if value != "" && u.err == nil {
		u.err = u.writer.WriteField(name, value)
	}
}

// file adds a file under a field name. If its size is unknown, so is that of the form,
// and the request is sent in chunks. Errors are kept for body.
func (u *upload) file(name string, m Media) {
	if u.err != nil {
		return
	}
	if m.Open == nil {
		u.err = badRequest("The file %s has no content; fetch it before it is sent.", cmp.Or(m.Name, m.URL))
		return
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", fmt.Sprintf(`form-data; name="%s"; filename="%s"`, name, fileName(m.Name)))
	header.Set("Content-Type", cmp.Or(m.MIME, "application/octet-stream"))
	_, u.err = u.writer.CreatePart(header)
	u.flush()
	f := &lazyFile{media: m}
	u.files = append(u.files, f)
	u.parts = append(u.parts, f)
	if m.Size <= 0 || u.length < 0 {
		u.length = -1
	} else {
		u.length += m.Size
	}
}

// fileName removes characters that would end the quoted name in the header. The extension
// is kept, because providers detect the format of a recording by it.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' || r == 0x7f {
			return '_'
		}
		return r
	}, name)
	return cmp.Or(name, "file")
}

// flush moves the bytes that the multipart writer has written so far, such as the
// header of a file, to the parts of the body.
func (u *upload) flush() {
	data := bytes.Clone(u.frame.Bytes())
	u.frame.Reset()
	u.parts = append(u.parts, bytes.NewReader(data))
	if u.length >= 0 {
		u.length += int64(len(data))
	}
}

// body completes the form and returns it. It must be closed, which net/http does.
func (u *upload) body() (io.ReadCloser, error) {
	if u.err == nil {
		u.err = u.writer.Close()
	}
	u.flush()
	return uploadBody{io.MultiReader(u.parts...), u}, u.err
}

// uploadBody is the body of a request with an upload. net/http closes it, and it closes
// the files.
type uploadBody struct {
	io.Reader
	upload *upload
}

// Close closes all files that were opened, also if the request ended before they were
// read. It never fails.
func (b uploadBody) Close() error {
	for _, f := range b.upload.files {
		f.close()
	}
	return nil
}

// lazyFile opens its file at the first read.
type lazyFile struct {
	media Media
	open  io.ReadCloser
	err   error
}

// Read opens the file at the first call, so that a file is not opened for a request
// that is never sent.
func (f *lazyFile) Read(p []byte) (int, error) {
	if f.open == nil && f.err == nil {
		if f.open, f.err = f.media.Open(); f.err != nil {
			f.err = badRequest("The file %s cannot be read.", f.media.Name)
		}
	}
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.open.Read(p)
	if err != nil && err != io.EOF {
		err = badRequest("The file %s cannot be read to its end.", f.media.Name)
	}
	return n, err
}

// close closes the file if it was opened, and makes further reads fail. The transport
// may still read when a request is canceled.
func (f *lazyFile) close() {
	if f.open != nil {
		_ = f.open.Close() // read only
	}
	f.err = cmp.Or[error](f.err, io.ErrClosedPipe)
}
