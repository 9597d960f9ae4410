package agents_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers/scripted"
)

// files is a file store in memory.
type files struct {
	mu   sync.Mutex
	list map[string]*flow.File
	data map[string][]byte
}

// SaveFile stores a file.
func (f *files) SaveFile(_ context.Context, n flow.NewFile, content io.Reader) (*flow.File, error) {
	data, err := io.ReadAll(content)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	file := &flow.File{ID: flow.NewIDs().New(flow.PrefixFile), Name: n.Name, MIME: n.MIME, Size: int64(len(data))}
	f.list[file.ID], f.data[file.ID] = file, data
	return file, nil
}

// OpenFile opens a file.
func (f *files) OpenFile(_ context.Context, _ flow.WorkspaceID, id string) (*flow.File, io.ReadSeekCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list[id], content{bytes.NewReader(f.data[id])}, nil
}

type content struct{ *bytes.Reader }

// Close does nothing.
func (content) Close() error { return nil }

// TestAgent_downloads_images_once: all turns send the same picture, although it changes on the server.
func TestAgent_downloads_images_once(t *testing.T) {
	t.Parallel()
	const turns = 4
	w := newWorld(t, func(r *scripted.Request) string {
		if r.Turn == turns {
			return "Done."
		}
		return fmt.Sprintf(`lookup {"id": "%d"}`, r.Turn)
	})
	w.files = &files{list: map[string]*flow.File{}, data: map[string][]byte{}}
	downloads := 0
	w.shop.answer = func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".png") {
			downloads++
			out.Header().Set("Content-Type", "image/png")
		}
		_, _ = fmt.Fprint(out, "picture ", downloads)
	}
	r := w.ask(t, fmt.Sprintf(`, "images": [%q]`, w.shop.URL+"/cat.png"), "")
	if r.State != flow.StepSucceeded || downloads != 1 {
		t.Fatalf("%s %v after %d downloads", r.State, r.Error, downloads)
	}
	first := ""
	for i, request := range w.model.Requests() {
		messages, _ := value.Get(decode(t, request.Raw), "messages").([]any)
		if got := string(flow.EncodeJSON(messages[0])); i == 0 {
			first = got
			has(t, first, "data:image/png;base64,")
		} else if got != first {
			t.Errorf("turn %d sent %s", i+1, got)
		}
	}
}
