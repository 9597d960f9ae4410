package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/flow"
)

// memoryFiles is a Files in memory that detects types from the content.
type memoryFiles struct {
	runs *memory
	ids  flow.IDs

	mu      sync.Mutex
	files   map[string]*flow.File
	content map[string][]byte
	failing error // returned by methods about files
}

func newMemoryFiles(runs *memory) *memoryFiles {
	return &memoryFiles{runs: runs, ids: flow.NewIDs(), files: map[string]*flow.File{}, content: map[string][]byte{}}
}

func (s *memoryFiles) SaveFile(_ context.Context, n flow.NewFile, content io.Reader) (*flow.File, error) {
	var data []byte
	piece := make([]byte, 64<<10)
	for {
		read, err := content.Read(piece)
		data = append(data, piece[:read]...)
		if int64(len(data)) > n.MaxSize {
			return nil, flow.Errorf(flow.CodeBodyTooLarge, "A file may have at most %s.", flow.Size(n.MaxSize))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, errors.New("the store hides what the reader said") // as one that does not wrap it would
		}
	}
	return s.put(n, data), nil
}

func (s *memoryFiles) put(n flow.NewFile, data []byte) *flow.File {
	f := &flow.File{
		ID: s.ids.New(flow.PrefixFile), WorkspaceID: n.WorkspaceID, KeyID: n.KeyID, Name: n.Name, MIME: n.MIME,
		Size: int64(len(data)), Hash: flow.Hash(data), CreatedAt: time.Now().UTC(),
	}
	if sniffed, _, _ := strings.Cut(http.DetectContentType(data), ";"); f.MIME == "" || sniffed == "text/html" || strings.HasPrefix(sniffed, "image/") {
		f.MIME = sniffed
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[f.ID], s.content[f.ID] = f, data
	found := *f
	return &found
}

func (s *memoryFiles) FileByID(_ context.Context, id string) (*flow.File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[id]
	if s.failing != nil {
		return nil, s.failing
	}
	if !ok {
		return nil, missing("file")
	}
	found := *f
	return &found, nil
}

func (s *memoryFiles) FindFile(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.File, error) {
	f, err := s.FileByID(ctx, id)
	if err == nil && f.WorkspaceID != ws {
		return nil, missing("file")
	}
	return f, err
}

// closer is content that can be read, sought and closed.
type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

func (s *memoryFiles) OpenFile(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.File, io.ReadSeekCloser, error) {
	f, err := s.FindFile(ctx, ws, id)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return f, closer{bytes.NewReader(s.content[id])}, nil
}

// FileUses looks through all runs, which a real store need not.
func (s *memoryFiles) FileUses(_ context.Context, ws flow.WorkspaceID, id string) ([]flow.FileUse, error) {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	var uses []flow.FileUse
	for _, r := range s.runs.runs {
		if r.WorkspaceID == ws && slices.Contains(append(flow.FileIDs(anyOf(r.Inputs)), flow.FileIDs(anyOf(r.Outputs))...), id) {
			uses = append(uses, flow.FileUse{FlowID: r.FlowID, KeyID: r.KeyID})
		}
	}
	return uses, nil
}

func anyOf(m *flow.Object) any {
	list := []any{}
	for _, v := range m.All() {
		list = append(list, v)
	}
	return list
}

func (s *memoryFiles) EraseFile(ctx context.Context, ws flow.WorkspaceID, id string) error {
	if _, err := s.FindFile(ctx, ws, id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, id)
	delete(s.content, id)
	return nil
}

func (s *memoryFiles) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.files)
}
