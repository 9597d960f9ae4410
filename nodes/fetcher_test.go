package nodes

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/flow"
)

var tinyPNG = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01")

// serveCounted serves files and counts the requests.
func serveCounted(t *testing.T) (service, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		switch r.URL.Path {
		case "/cat.png":
			_, _ = w.Write(tinyPNG)
		case "/moved":
			http.Redirect(w, r, "/cat.png", http.StatusFound)
		case "/private":
			http.Redirect(w, r, "http://10.0.0.1/cat.png", http.StatusFound)
		case "/page":
			_, _ = io.WriteString(w, "<html><title>Not a picture</title></html>")
		case "/large":
			_, _ = io.WriteString(w, strings.Repeat("x", 5000))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		default:
			w.WriteHeader(http.StatusGone)
		}
	})
	return s, &n
}

func TestInput_fetches_files(t *testing.T) {
	t.Parallel()
	s, _ := serveCounted(t)
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(tinyPNG)
	photo := map[string]any{"name": "photo", "type": "file", "accept": []any{"image/*"}}
	for name, c := range map[string]struct {
		value any
		file  string
	}{
		"a URL":             {s.URL + "/cat.png?signature=abc", "cat.png"},
		"a redirect":        {s.URL + "/moved", "cat.png"},
		"a URL with a name": {map[string]any{"url": s.URL + "/cat.png", "name": "dog.png"}, "dog.png"},
		"a data URL":        {data, "file"},
		"a named data URL":  {map[string]any{"url": data, "name": "pixel.png"}, "pixel.png"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			w.fetcher = &Fetcher{HTTP: s.deps.HTTP}
			r := use{kind: "input", config: photo, ports: map[string]any{"value": c.value}}.executeIn(t, w, s.deps)
			if r.Error != nil {
				t.Fatal(r.Error)
			}
			value := r.Outputs["value"]
			same(t, "file", []any{member(value, "name"), member(value, "mime"), w.files.content(t, value)}, []any{c.file, "image/png", string(tinyPNG)})
			if strings.Contains(string(flow.EncodeJSON(r.Input)), "signature") || len(flow.EncodeJSON(r.Input)) > 200 {
				t.Errorf("the record shows %s", flow.EncodeJSON(r.Input))
			}
		})
	}
	t.Run("fetches each file of a list once", func(t *testing.T) {
		t.Parallel()
		s, n := serveCounted(t)
		w := newFixture()
		w.fetcher = &Fetcher{HTTP: s.deps.HTTP}
		stored := w.files.put(t, "a.png", "image/png", "abc")
		config := map[string]any{"name": "photos", "type": "list", "items": "file"}
		r := use{kind: "input", config: config, ports: map[string]any{"value": []any{s.URL + "/cat.png", stored, data}}}.executeIn(t, w, s.deps)
		list, _ := r.Outputs["value"].([]any)
		if r.Error != nil || len(list) != 3 || len(flow.FileIDs(list)) != 3 || n.Load() != 1 {
			t.Errorf("got %v %v after %d requests", r.Error, list, n.Load())
		}
	})
	t.Run("fetches once although the first attempt was not recorded", func(t *testing.T) {
		t.Parallel()
		s, n := serveCounted(t)
		w := newFixture() // its files stay, as after a crash
		w.fetcher = &Fetcher{HTTP: s.deps.HTTP}
		u := use{kind: "input", config: photo, ports: map[string]any{"value": s.URL + "/cat.png"}}
		first, second := u.executeIn(t, w, s.deps), u.executeIn(t, w, s.deps)
		same(t, "file", second.Outputs, first.Outputs)
		if n.Load() != 1 || len(w.files.kept) != 1 {
			t.Errorf("%d requests and %d files", n.Load(), len(w.files.kept))
		}
	})
	t.Run("keeps a URL in a text", func(t *testing.T) {
		t.Parallel()
		r := use{kind: "input", config: map[string]any{"name": "v"}, ports: map[string]any{"value": s.URL + "/cat.png"}}.execute(t, s.deps)
		same(t, "value", r.Outputs["value"], s.URL+"/cat.png")
	})
	t.Run("fetches a file from an edge", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		w.fetcher = &Fetcher{HTTP: s.deps.HTTP}
		r := use{kind: "file", ports: map[string]any{"file": s.URL + "/cat.png"}}.executeIn(t, w, s.deps)
		if r.Error != nil || r.Outputs["name"] != "cat.png" || w.files.content(t, r.Outputs["file"]) != string(tinyPNG) {
			t.Errorf("got %v %v", r.Error, r.Outputs)
		}
	})
	for name, c := range map[string]struct {
		url  string
		code flow.Code
		want string
	}{
		"a private address":  {"http://10.0.0.1/cat.png", flow.CodeDestinationBlocked, "SLUICE_ALLOW_PRIVATE"},
		"a private redirect": {s.URL + "/private", flow.CodeDestinationBlocked, "SLUICE_ALLOW_PRIVATE"},
		"a wrong type":       {s.URL + "/page", flow.CodeInputInvalid, "accepts image/*"},
		"a refusal":          {s.URL + "/gone", flow.CodeHTTPFailed, "410"},
		"one too large":      {s.URL + "/large", flow.CodeInputInvalid, "larger than 4 KiB"},
		"a cut answer":       {s.URL + "/cut", flow.CodeHTTPFailed, "127.0.0.1"},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			config := photo
			if name == "one too large" || name == "a cut answer" {
				config = map[string]any{"name": "photo", "type": "file"}
			}
			w := newFixture()
			w.fetcher = &Fetcher{HTTP: s.deps.HTTP, Max: 4096}
			r := use{kind: "input", config: config, ports: map[string]any{"value": c.url}}.executeIn(t, w, s.deps)
			if r.Error == nil || r.Error.Code != c.code || !strings.Contains(r.Error.Message, c.want) || !strings.HasPrefix(r.Error.Message, `The input "photo": `) {
				t.Fatalf("got %+v, want %s with %q", r.Error, c.code, c.want)
			}
			if len(w.files.kept) > 0 {
				t.Errorf("%d files are kept", len(w.files.kept))
			}
		})
	}
}
