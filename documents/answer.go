package documents

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A child answers with frames: a line of JSON, and then as many bytes as it says.
// Images come first, one by one, so that neither side holds all of them; the
// document is the last frame.
//
// Texts and images travel behind the line rather than in it: JSON would need
// base64 for an image, which adds a third, and escapes for a text, and both sides
// would hold the encoded and the decoded form at once.

const (
	// maxHead bounds a line of JSON in bytes; the tables of a workbook are in it.
	maxHead = maxTables + 1<<20
	// maxImage bounds one image in bytes.
	maxImage = 16 << 20
)

// frame is the line of JSON. Exactly one of its pointers is set, or Page.
type frame struct {
	Page      int        `json:",omitempty"` // the bytes are the image of this page
	Size      int        `json:",omitempty"`
	Document  *Document  `json:",omitempty"` // the bytes are its text
	Refused   *Error     `json:",omitempty"`
	Attempted *attempted `json:",omitempty"`
}

// errNoAnswer is returned for an answer that ends early. How the child ended
// says more.
var errNoAnswer = errors.New("the document reader gave no answer")

// errAnswer is returned for an answer that no child of this program gives, so
// the child is broken or compromised. The message is internal.
var errAnswer = errors.New("the document reader gave an answer that is not allowed")

// writeFrame writes f with the size of data, and data behind it.
func writeFrame(w io.Writer, f frame, data string) error {
	f.Size = len(data)
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = io.WriteString(w, data)
	return err
}

// readFrame reads one frame. A child may be compromised, so nothing of it is
// believed: the line and the data are bounded before they are allocated. A frame
// that breaks a bound is errAnswer, one that ends early is errNoAnswer.
//
// The line is read slice by slice, because bufio.Reader.ReadBytes would collect
// an endless line in memory before it could be measured.
func readFrame(r *bufio.Reader) (f frame, data []byte, err error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxHead {
			return f, nil, errAnswer
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return f, nil, errNoAnswer
		}
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return f, nil, fmt.Errorf("%w: %v", errAnswer, err)
	}
	limit := MaxText
	if f.Page > 0 {
		limit = maxImage
	}
	if f.Size < 0 || f.Size > limit {
		return f, nil, errAnswer
	}
	data = make([]byte, f.Size)
	if _, err := io.ReadFull(r, data); err != nil {
		return f, nil, errNoAnswer
	}
	return f, data, nil
}

// readAnswer reads the images of a child, for which it calls keep, and then the
// document.
func readAnswer(out io.Reader, keep func(Image) error) (*Document, error) {
	r := bufio.NewReaderSize(out, 64<<10)
	for images := 0; ; images++ {
		f, data, err := readFrame(r)
		switch {
		case err != nil:
			return nil, err
		case f.Refused != nil:
			return nil, f.Refused
		case f.Document != nil:
			f.Document.Text = string(data)
			return f.Document, nil
		case f.Page < 1 || images >= MaxImages:
			return nil, errAnswer
		}
		if err := keep(Image{Page: f.Page, PNG: data}); err != nil {
			return nil, err
		}
	}
}
