package documents

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A child responds with frames: a line of JSON, followed by the number of bytes that
// it states. Images come first, one by one, so that neither side holds all of them; the
// document is the last frame.
//
// Texts and images follow the line instead of being part of it: JSON would need base64
// for images, which adds a third, and escapes for texts, and both sides would hold the
// encoded and the decoded form at the same time.

const (
	// maxHead bounds a line of JSON, which includes the tables of a workbook, in bytes.
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

// errNoAnswer is returned for an answer that ends early. The exit status of the child
// says more.
var errNoAnswer = errors.New("the document reader gave no answer")

// errAnswer is returned for an invalid answer, so the child is broken or compromised.
// The message is internal.
var errAnswer = errors.New("the document reader gave an answer that is not allowed")

// writeFrame writes f with the size of data, followed by data.
func writeFrame(w io.Writer, f frame, data string) error {
	f.Size = len(data)
	line := json.NewEncoder(w)
	line.SetEscapeHTML(false) // an escape is longer than what tables were measured by
	if err := line.Encode(f); err != nil {
		return err
	}
	_, err := io.WriteString(w, data)
	return err
}

// readFrame reads one frame. A child may be compromised, so it is not trusted: the
// line and the data are bounded before they are allocated. It returns errAnswer for a
// frame that exceeds a bound, and errNoAnswer for one that ends early.
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

// readAnswer reads the answer of a child: it calls keep for each image and returns the
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
