package documents

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// spooled is a temporary file that is deleted when it is closed.
type spooled struct {
	*os.File
	remains bool // some systems keep the name of a file while it is open
}

// spool writes head and content to a temporary file, so that memory stays flat for large and
// slow content. The returned file is rewound, and already unlinked where the system allows
// that. Unix keeps an unlinked file until its last descriptor is closed, so even a server
// that is killed leaves no document behind.
//
// Content beyond MaxSize is not read. Errors of content are returned as they are,
// so that callers recognize them.
func spool(ctx context.Context, head []byte, content io.Reader) (*spooled, error) {
	f, err := os.CreateTemp("", "sluice-document-*")
	if err != nil {
		return nil, fmt.Errorf("keep a document on disk: %w", err)
	}
	s := &spooled{File: f, remains: os.Remove(f.Name()) != nil}
	if err := s.fill(ctx, head, content); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// fill writes head and then at most MaxSize bytes of content, and rewinds the file.
// head is the beginning that was read to recognize the format.
func (s *spooled) fill(ctx context.Context, head []byte, content io.Reader) error {
	_, err := s.Write(head)
	if err == nil {
		_, err = io.Copy(s, io.LimitReader(content, MaxSize))
	}
	if err == nil {
		_, err = s.Seek(0, io.SeekStart)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ofFile := errors.AsType[*os.PathError](err); ofFile {
		return fmt.Errorf("keep a document on disk: %w", err)
	}
	return err // of the content
}

// close closes the file. On systems that keep the name of an open file, it also removes
// it.
func (s *spooled) close() {
	_ = s.Close() // it was only read
	if s.remains {
		_ = os.Remove(s.Name()) // on failure, the system cleans up its temporary directory
	}
}

// isPDF reports whether the content, which begins at an offset, is a PDF: whether its
// signature is among the first maxMark bytes.
func (s *spooled) isPDF(offset int) (bool, error) {
	head := make([]byte, maxMark)
	n, err := s.ReadAt(head, int64(offset))
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read a spooled document: %w", err)
	}
	return bytes.Contains(head[:n], []byte("%PDF-")), nil
}
