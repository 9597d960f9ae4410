package providers

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
)

// maxImageAnswer bounds the images of one response in bytes, and maxImageFrame the rest of it.
const (
	maxImageAnswer = 128 << 20
	maxImageFrame  = 1 << 20
)

// imageAnswer is the response of an image call, with its images in separate files.
type imageAnswer struct {
	Data []struct {
		File *int   `json:"b64_json"` // index of the file
		URL  string `json:"url"`
	} `json:"data"`
	Usage usageAnswer `json:"usage"`
}

// splitImages reads a JSON response and decodes the base64 in it to files. Each image is
// replaced by the index of its file, because ten large images would take too much memory.
func (s *session) splitImages(resp *http.Response) (*imageAnswer, pictureFiles, error) {
	sp := &splitter{in: bufio.NewReaderSize(resp.Body, 32<<10)}
	err := sp.run()
	var answer imageAnswer
	frame := bytes.TrimPrefix(bytes.TrimSpace(sp.frame.Bytes()), []byte(bom))
	if err == nil {
		err = s.errorIn("", frame)
	}
	if err == nil && json.Unmarshal(frame, &answer) != nil {
		err = s.notAnAnswer(resp, frame)
	}
	if err == nil {
		return &answer, sp.files, nil
	}
	sp.files.close()
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, nil, s.bodyFailed(resp, e)
	}
	if _, ok := errors.AsType[*os.PathError](err); ok {
		return nil, nil, s.notKept()
	}
	if sp.readErr != nil && sp.readErr != io.EOF {
		return nil, nil, sp.readErr // the context's error
	}
	return nil, nil, s.notUnderstood()
}

// notKept returns the error for a temporary file that could not be written, mostly
// because the disk is full. It is retryable: space is freed when other steps end.
func (s *session) notKept() *Error {
	return &Error{Class: ClassUnavailable, Retryable: true, RequestID: s.requestID,
		Message: "The picture could not be kept: the disk for temporary files does not take it."}
}

// errNotJSON ends the parsing of a response that cannot be an image answer, also
// because it has too many pictures or too much other data. Callers see notUnderstood
// instead.
var errNotJSON = errors.New("providers: not the JSON of an image answer")

// splitter scans JSON for strings. It does not validate the JSON, which the decoder of the
// frame does.
type splitter struct {
	in      *bufio.Reader
	frame   bytes.Buffer
	files   pictureFiles
	last    string // the last string
	key     string // name of the next value
	readErr error
}

// run copies the response to frame and the pictures in it to files, in one pass. A
// picture of many megabytes would otherwise be in memory twice, in base64 and decoded.
func (sp *splitter) run() error {
	for {
		c, err := sp.in.ReadByte()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			sp.readErr = err
			return err
		}
		if err := sp.step(c); err != nil {
			return err
		}
		if sp.frame.Len() > maxImageFrame {
			return errNotJSON
		}
	}
}

// step processes a byte outside of strings. It tracks names only to recognize the
// string value of "b64_json"; invalid JSON is noticed when frame is decoded.
func (sp *splitter) step(c byte) error {
	if c == '"' && sp.key == "b64_json" {
		sp.key = ""
		return sp.picture()
	}
	sp.frame.WriteByte(c)
	switch c {
	case '"':
		return sp.text()
	case ':':
		sp.key = sp.last
	case ' ', '\n', '\r', '\t':
	default:
		sp.key = ""
	}
	return nil
}

// text copies a string up to its end.
func (sp *splitter) text() error {
	start := sp.frame.Len()
	for escaped := false; ; {
		c, err := sp.in.ReadByte()
		if err != nil {
			sp.readErr = err
			return err
		}
		sp.frame.WriteByte(c)
		if c == '"' && !escaped {
			break
		}
		escaped = c == '\\' && !escaped
		if sp.frame.Len() > maxImageFrame {
			return errNotJSON
		}
	}
	sp.last, sp.key = string(sp.frame.Bytes()[start:sp.frame.Len()-1]), ""
	return nil
}

// picture decodes base64 up to the end of its string to a file.
func (sp *splitter) picture() error {
	if front, _ := sp.in.Peek(5); string(front) == "data:" {
		if _, err := sp.in.ReadSlice(','); err != nil { // some servers send a data URL
			sp.readErr = err
			return err
		}
	}
	if len(sp.files) == maxImages {
		return errNotJSON
	}
	f, err := newPictureFile()
	if err != nil {
		return err
	}
	sp.files = append(sp.files, f)
	sp.frame.WriteString(itoa(len(sp.files) - 1))
	out := bufio.NewWriterSize(f.File, 64<<10) // the decoder returns less than 1 KiB at a time
	if _, err = io.Copy(out, base64.NewDecoder(base64.StdEncoding, base64String{sp})); err != nil {
		return err
	}
	return out.Flush()
}

// base64String reads a JSON string with base64, in which only the slash and line breaks can
// be escaped.
type base64String struct{ sp *splitter }

// Read returns the base64 text up to the closing quote. Escapes that some servers write
// are resolved: \/ is a slash, and line breaks are dropped.
func (b base64String) Read(p []byte) (int, error) {
	in := b.sp.in
	for {
		if _, err := in.Peek(1); err != nil {
			b.sp.readErr = err
			return 0, noEOF(err)
		}
		chunk, _ := in.Peek(min(in.Buffered(), len(p))) // buffered, so it cannot fail
		end := bytes.IndexAny(chunk, `"\`)
		if end < 0 {
			end = len(chunk)
		}
		if end > 0 {
			return in.Discard(copy(p, chunk[:end]))
		}
		_, _ = in.Discard(1)
		if chunk[0] == '"' {
			return 0, io.EOF
		}
		if next, _ := in.Peek(1); string(next) != "/" {
			_, _ = in.Discard(1) // a line break; an error is returned again by the next read
		}
	}
}

// noEOF turns io.EOF into io.ErrUnexpectedEOF, where a closing quote must still follow.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// pictureFile is a temporary file, unlinked if the system permits that, so that it does not
// outlive the process.
type pictureFile struct{ *os.File }

// pictureFiles are the pictures of one response, in its order. The caller that receives
// them must close them.
type pictureFiles []*pictureFile

// newPictureFile creates a temporary file and removes its name immediately where the
// system permits it, so that a crash leaves no file behind.
func newPictureFile() (*pictureFile, error) {
	f, err := os.CreateTemp("", "sluice-picture-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // if that fails, Close removes it
	return &pictureFile{f}, nil
}

// Close closes the file and removes it.
func (f *pictureFile) Close() error {
	err := f.File.Close()
	_ = os.Remove(f.Name()) // usually already removed
	return err
}

// close discards the pictures of a response that failed or is not used.
func (fs pictureFiles) close() {
	for _, f := range fs {
		_ = f.Close() // discarded
	}
}

// errNoPicture refuses a picture of no bytes.
var errNoPicture = errors.New("providers: an empty picture")

// blob rewinds the file and detects its type by its first bytes, because responses with
// base64 do not declare one.
func (f *pictureFile) blob() (Blob, error) {
	front := make([]byte, 512) // DetectContentType uses at most 512 bytes
	n, err := f.ReadAt(front, 0)
	if err != nil && err != io.EOF {
		return Blob{}, err
	}
	if n == 0 {
		return Blob{}, errNoPicture
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Blob{}, err
	}
	return Blob{MIME: http.DetectContentType(front[:n]), Body: f}, nil
}
