package nodes

import (
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/xuri/excelize/v2"

	"sluice/documents"
	"sluice/e2e/need"
	"sluice/flow"
	"sluice/flow/value"
	"sluice/outbound"
)

// testReader reads documents in tests. Its PDF engine is cached between test runs, because
// compiling it takes seconds.
var testReader = sync.OnceValue(func() *documents.Reader {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return documents.New(documents.Config{CacheDir: filepath.Join(dir, "sluice-test"), Working: outbound.Report})
})

// readDocumentFile runs a document node on a file.
func readDocumentFile(t *testing.T, w *fixture, name, content string, config map[string]any) ran {
	t.Helper()
	file := w.files.put(t, name, "", content)
	return use{kind: "document", ports: map[string]any{"file": file}, config: config}.executeIn(t, w, fakes())
}

func TestDocument(t *testing.T) {
	t.Parallel()
	need.Time(t)
	pdf, err := os.ReadFile("../documents/testdata/ghostscript.pdf")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("outputs the pages of a PDF as files", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		r := readDocumentFile(t, w, "letter.pdf", string(pdf), map[string]any{"images": true, "pages": "2"})
		same(t, "outputs", []any{r.Error, r.Outputs["text"], r.Outputs["pages"], r.Outputs["format"], r.Outputs["truncated"], r.Outputs["tables"]},
			[]any{nil, "Page two.", number("2"), "pdf", false, []any{}})
		images, _ := r.Outputs["images"].([]any)
		if len(images) != 1 {
			t.Fatalf("got %v", r.Outputs["images"])
		}
		id, _ := flow.FileID(images[0])
		f, content, err := w.files.OpenFile(t.Context(), flow.DefaultWorkspace, id)
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		picture, err := png.Decode(content)
		if err != nil || max(picture.Bounds().Dx(), picture.Bounds().Dy()) != documents.ImageSize {
			t.Errorf("got %v, %v", err, picture.Bounds())
		}
		same(t, "file", []any{f.Name, f.MIME}, []any{"page-2.png", "image/png"})
	})
	t.Run("outputs no images by default", func(t *testing.T) {
		t.Parallel()
		r := readDocumentFile(t, newFixture(), "letter.pdf", string(pdf), nil)
		same(t, "images", []any{r.Error, r.Outputs["images"]}, []any{nil, []any{}})
	})
	t.Run("outputs sheets as rows", func(t *testing.T) {
		t.Parallel()
		book := excelize.NewFile()
		for cell, value := range map[string]any{"A1": "Item", "B1": "Price", "A2": "Parcel", "B2": 7} {
			if err := book.SetCellValue("Sheet1", cell, value); err != nil {
				t.Fatal(err)
			}
		}
		var b strings.Builder
		if err := book.Write(&b); err != nil {
			t.Fatal(err)
		}
		r := readDocumentFile(t, newFixture(), "a.xlsx", b.String(), nil)
		same(t, "tables", []any{r.Error, r.Outputs["tables"]}, []any{nil, []any{map[string]any{"name": "Sheet1", "rows": []any{map[string]any{"Item": "Parcel", "Price": "7"}}}}})
	})
	t.Run("keeps the order of columns", func(t *testing.T) {
		t.Parallel()
		r := readDocumentFile(t, newFixture(), "people.csv", "zip,name,age\n8001,Ada,36\n", nil)
		if got, want := string(value.Encode(r.Outputs["tables"])), `[{"name":"people","rows":[{"zip":"8001","name":"Ada","age":"36"}]}]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("says that it guessed the encoding", func(t *testing.T) {
		t.Parallel()
		const koi8 = "\xe4\xcf\xc7\xcf\xd7\xcf\xd2 \xd7\xd3\xd4\xd5\xd0\xc1\xc5\xd4 \xd7 \xd3\xc9\xcc\xd5"
		r := readDocumentFile(t, newFixture(), "a.txt", koi8, nil)
		same(t, "text", []any{r.Error, r.Outputs["text"], r.Outputs["encoding"]}, []any{nil, "Договор вступает в силу", "koi8-r"})
		has(t, flow.Text(r.Outputs["warnings"]), "It was read as koi8-r, which is a guess")
		r = readDocumentFile(t, newFixture(), "a.txt", koi8, map[string]any{"encoding": "KOI8-R"})
		same(t, "warnings", []any{r.Error, r.Outputs["text"], r.Outputs["warnings"]}, []any{nil, "Договор вступает в силу", []any{}})
	})
	t.Run("rejects a file that is not a document or too large", func(t *testing.T) {
		t.Parallel()
		for content, want := range map[string]string{"\x89PNG\r\n\x1a\n\x00\x00": "Sluice reads PDF, Word (DOCX)", strings.Repeat("x", documents.MaxSize+1): "64 MiB"} {
			r := readDocumentFile(t, newFixture(), "a.bin", content, nil)
			if r.Error == nil || r.Error.Code != flow.CodeInputInvalid {
				t.Fatalf("got %v", r.Error)
			}
			has(t, r.Error.Message, want)
		}
	})
}

// wordDocument is a small HTML document, which servers may send with another file name.
const wordDocument = "<!doctype html><h1>Delivery terms</h1>"

func TestDocument_reads_file_or_URL(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/go":
			http.Redirect(w, r, "/terms.docx", http.StatusFound)
		case "/terms.docx":
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, wordDocument)
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "no such thing")
		}
	})
	t.Run("fetches a URL", func(t *testing.T) {
		t.Parallel()
		outputs := use{kind: "document", ports: map[string]any{"file": s.URL + "/go"}}.succeeds(t, s.deps)
		has(t, flow.Text(outputs["text"]), "Delivery terms")
	})
	for path, want := range map[string]string{"/missing": "404 Not Found: no such thing", "/cut": "127.0.0.1"} {
		t.Run("fails as "+path, func(t *testing.T) {
			t.Parallel()
			u := use{kind: "document", config: map[string]any{"file": s.URL + path}}
			has(t, u.fails(t, s.deps, flow.CodeHTTPFailed).Message, want)
		})
	}
	t.Run("refuses private addresses", func(t *testing.T) {
		t.Parallel()
		use{kind: "document", ports: map[string]any{"file": "http://10.0.0.1/a.pdf"}}.fails(t, s.deps, flow.CodeDestinationBlocked)
		use{kind: "document", ports: map[string]any{"file": "nowhere"}}.fails(t, s.deps, flow.CodeInputInvalid)
	})
	t.Run("rejects a deleted file", func(t *testing.T) {
		t.Parallel()
		gone := map[string]any{"file": flow.NewIDs().New(flow.PrefixFile), "name": "a.pdf"}
		has(t, use{kind: "document", ports: map[string]any{"file": gone}}.fails(t, s.deps, flow.CodeInputInvalid).Message, "does not exist")
		use{kind: "document", ports: map[string]any{"file": number("3")}}.fails(t, s.deps, flow.CodeInputInvalid)
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		for pointer, config := range map[string]map[string]any{
			"/nodes/0/config/pages":     {"pages": "1-x"},
			"/nodes/0/config/encoding":  {"encoding": "latin-99"},
			"/nodes/0/config/max_pages": {"max_pages": number("2001")},
			"/nodes/0/config/file":      {"file": "terms.pdf"},
		} {
			if config["file"] == nil {
				config["file"] = "https://example.com/a.pdf"
			}
			problems := use{kind: "document", config: config}.problems(t)
			if len(problems) != 1 || problems[0].Pointer != pointer {
				t.Errorf("%v: got %v", config, problems)
			}
		}
	})
}
