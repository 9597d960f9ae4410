package inflight

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"sluice/flow/value"
)

// Body is content that was received completely: in memory if it is small, in a file otherwise.
type Body struct {
	Size  int64
	Cost  Cost   // of the content as JSON
	first byte   // that is not a space
	head  []byte // the content if there is no file
	file  *os.File
}

// ErrNoSpace is wrapped by errors of a Body that could not be kept in a file.
var ErrNoSpace = errors.New("the content could not be kept in a file")

// ErrTooManyValues is returned for JSON of more than value.MaxValues values.
var ErrTooManyValues = errors.New("the JSON has more than 1,000,000 values")

// Receive reads content to its end. Errors of the content are returned as they are, with what was
// received before; a body that is not nil must be closed. If the content
// is the body of a request to be decoded as JSON, and has too many values or takes more memory than
// EachBody, the rest is read and dropped, because clients read no response before they have sent everything.
func (b *Budget) Receive(content io.Reader, asJSON bool) (*Body, error) {
	body := &Body{}
	part := make([]byte, 0, 1<<10)
	for {
		if len(part) == cap(part) {
			if len(part) >= Small {
				if err := body.write(b, part); err != nil {
					body.Close()
					return nil, err
				}
				part = part[:0]
			} else {
				part = append(make([]byte, 0, 4*cap(part)), part...)
			}
		}
		n, err := content.Read(part[len(part):cap(part)])
		_, _ = body.Cost.Write(part[len(part) : len(part)+n])
		if body.first == 0 {
			body.first = firstByte(part[len(part) : len(part)+n])
		}
		part = part[:len(part)+n]
		body.Size += int64(n)
		if tooLarge := b.refuses(&body.Cost); (err == nil || err == io.EOF) && asJSON && tooLarge != nil {
			if _, err = io.Copy(io.Discard, content); err == nil {
				err = tooLarge
			}
			return body, err
		}
		if err == nil {
			continue
		}
		if err == io.EOF {
			err = nil
		}
		if body.file == nil {
			body.head = part
		} else if writeErr := body.write(b, part); err == nil {
			err = writeErr
		}
		return body, err
	}
}

// refuses returns the error for a request whose body costs too much, or nil.
func (b *Budget) refuses(c *Cost) error {
	switch {
	case c.Values > value.MaxValues:
		return ErrTooManyValues
	case c.least() > b.EachBody():
		return ErrTooLarge
	}
	return nil
}

// firstByte returns the first byte that is neither a space nor of a byte order mark, or 0.
func firstByte(p []byte) byte {
	if p = bytes.TrimLeft(p, " \t\r\n\xef\xbb\xbf"); len(p) > 0 {
		return p[0]
	}
	return 0
}

// write appends to the file, and creates it before the first part.
func (b *Body) write(from *Budget, part []byte) (err error) {
	if b.file == nil {
		if b.file, err = openSpool(from); err != nil {
			return err
		}
	}
	if _, err := b.file.Write(part); err != nil {
		return fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return nil
}

// openSpool creates a file without a name in the directory of a budget.
func openSpool(from *Budget) (*os.File, error) {
	dir := ""
	if from != nil {
		dir = from.dir
	}
	f, err := os.CreateTemp(dir, "body-*")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	_ = os.Remove(f.Name()) // some systems keep the name of an open file: it is removed at the next start
	return f, nil
}

// Reader returns a reader of the content from its beginning.
func (b *Body) Reader() io.Reader {
	if b.file == nil {
		return bytes.NewReader(b.head)
	}
	return io.NewSectionReader(b.file, 0, b.Size)
}

// Bytes returns the content. The memory for it must have been taken, unless it is small.
func (b *Body) Bytes() ([]byte, error) {
	if b.file == nil {
		return b.head, nil
	}
	data := make([]byte, b.Size)
	if _, err := b.file.ReadAt(data, 0); err != nil && err != io.EOF {
		return nil, fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	return data, nil
}

// Decoding returns how many bytes of memory Decode and its value take.
func (b *Body) Decoding() int64 {
	n, _ := b.Cost.decoding(b.Size)
	return n
}

// Decode decodes the content as strict JSON; see value.Decode. The memory for it must have been
// taken; see Hold.TakeBody.
func (b *Body) Decode() (any, error) {
	if _, fromFile := b.Cost.decoding(b.Size); fromFile && b.file != nil {
		return value.DecodeFrom(b.Reader())
	}
	data, err := b.Bytes()
	if err != nil {
		return nil, err
	}
	return value.DecodeOwned(data)
}

// LooksLikeJSON reports whether the content begins like an object or a list.
func (b *Body) LooksLikeJSON() bool { return b.first == '{' || b.first == '[' }

// Close removes the file.
func (b *Body) Close() {
	if b.file != nil {
		_ = b.file.Close() // it was only read
		b.file = nil
	}
}
