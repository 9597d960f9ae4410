package nodes

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"sluice/flow"
)

func serveFiles(t *testing.T) service {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/a/b/report%20one.pdf", "/a/b/report one.pdf":
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = io.WriteString(w, "%PDF-1.4 ...")
		case "/download":
			w.Header().Set("Content-Type", "application/octet-stream")
			w.Header().Set("Content-Disposition", `attachment; filename="../../etc/pass/data.csv"; filename*=UTF-8''%2e%2e%2fZ%C3%BCrich.csv`)
			_, _ = io.WriteString(w, "a,b\n")
		case "/":
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = io.WriteString(w, strings.Repeat("x", 3<<20))
		case "/cut":
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		case "/large":
			w.Header().Set("Content-Length", "600000000")
			_, _ = io.WriteString(w, "x")
		default:
			w.WriteHeader(http.StatusGone)
			_, _ = io.WriteString(w, "it was deleted")
		}
	})
}

func TestFile(t *testing.T) {
	t.Parallel()
	s := serveFiles(t)
	for _, c := range []struct {
		path, given      string
		name, mime, size string
	}{
		{"/a/b/report%20one.pdf?x=1", "", "report one.pdf", "application/pdf", "12"},
		{"/download", "", "Zürich.csv", "text/plain; charset=utf-8", "4"},
		{"/download", "C:\\x\\own.csv", "own.csv", "text/plain; charset=utf-8", "4"},
		{"/", "", "127.0.0.1", "text/plain", "3145728"},
	} {
		t.Run("fetches "+c.path+" as "+c.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture()
			r := use{kind: "file", config: map[string]any{"url": s.URL + c.path, "name": c.given}}.executeIn(t, w, s.deps)
			same(t, "outputs", []any{r.Error, r.Outputs["name"], r.Outputs["mime"], flow.Text(r.Outputs["size"])}, []any{nil, c.name, c.mime, c.size})
			if n := len(w.files.content(t, r.Outputs["file"])); flow.Text(flow.Number(n)) != c.size {
				t.Errorf("%d bytes are kept", n)
			}
			same(t, "name in the value", member(r.Outputs["file"], "name"), c.name)
		})
	}
	t.Run("passes a file on", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		kept := w.files.put(t, "a.txt", "text/plain", "abc")
		r := use{kind: "file", ports: map[string]any{"file": map[string]any{"file": kept["file"]}}}.executeIn(t, w, s.deps)
		same(t, "outputs", r.Outputs, map[string]any{"file": kept, "name": "a.txt", "mime": "text/plain", "size": number("3")})
	})
	gone := map[string]any{"file": flow.NewIDs().New(flow.PrefixFile)}
	for _, c := range []struct {
		name  string
		ports map[string]any
		code  flow.Code
		want  string
	}{
		{"neither", nil, flow.CodeInputInvalid, "neither a file nor a URL"},
		{"both", map[string]any{"file": gone, "url": s.URL}, flow.CodeInputInvalid, "both a file and a URL"},
		{"a file that is gone", map[string]any{"file": gone}, flow.CodeInputInvalid, "does not exist"},
		{"a private address", map[string]any{"url": "http://192.168.0.1/a"}, flow.CodeDestinationBlocked, "SLUICE_ALLOW_PRIVATE"},
		{"a refusal", map[string]any{"url": s.URL + "/gone"}, flow.CodeHTTPFailed, "410 Gone: it was deleted"},
		{"half a file", map[string]any{"url": s.URL + "/cut"}, flow.CodeHTTPFailed, "127.0.0.1"},
		{"too large a file", map[string]any{"url": s.URL + "/large"}, flow.CodeHTTPFailed, "512 MiB"},
	} {
		t.Run("refuses "+c.name, func(t *testing.T) {
			t.Parallel()
			has(t, use{kind: "file", ports: c.ports}.fails(t, s.deps, c.code).Message, c.want)
		})
	}
	t.Run("reports a file that exceeds the limit of the store", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		w.files.limit = 1000
		r := use{kind: "file", config: map[string]any{"url": s.URL}}.executeIn(t, w, s.deps)
		if r.Error == nil || r.Error.Code != flow.CodeInputInvalid {
			t.Fatalf("got %v", r.Error)
		}
		has(t, r.Error.Message, "larger than 1000 bytes")
	})
	t.Run("rejects invalid config", func(t *testing.T) {
		t.Parallel()
		file := map[string]any{"file": "file_01jabcdefghjkmnpqrstvwxyz0"}
		for _, config := range []map[string]any{{"file": file, "url": "https://example.com/a"}, {"url": "example.com"}} {
			problems := use{kind: "file", config: config}.problems(t)
			if len(problems) != 1 || problems[0].Pointer != "/nodes/0/config/url" {
				t.Errorf("%v: got %v", config, problems)
			}
		}
	})
}

func TestFileName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	for s, want := range map[string]string{
		"/a/b.pdf": "b.pdf", "b.pdf": "b.pdf", "..": "", "/": "", "": "", "a\x00b\n.txt": "ab.txt", `C:\Temp\c.doc`: "c.doc", " x ": "x",
		long + ".pdf": strings.Repeat("é", maxFileName-4) + ".pdf", "\xff\xfe.txt": ".txt",
	} {
		if got := fileName(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
}

func TestHTTPRequest_stores_response_as_file(t *testing.T) {
	t.Parallel()
	s := serveFiles(t)
	keepIt := func(path string) map[string]any {
		return map[string]any{"url": s.URL + path, "response": "file"}
	}
	t.Run("stores the response", func(t *testing.T) {
		t.Parallel()
		w := newFixture()
		r := s.call(keepIt("/download"), nil).executeIn(t, w, s.deps)
		same(t, "answer", []any{r.Error, member(r.Outputs["body"], "name"), r.Outputs["status"]}, []any{nil, "Zürich.csv", number("200")})
		if got := w.files.content(t, r.Outputs["body"]); got != "a,b\n" {
			t.Errorf("kept %q", got)
		}
		has(t, flow.Text(member(r.Outputs["headers"], "content-disposition")), "attachment")
	})
	t.Run("stores no file for an empty response", func(t *testing.T) {
		t.Parallel()
		config := keepIt("/download")
		config["method"] = "HEAD"
		same(t, "body", s.call(config, nil).succeeds(t, s.deps)["body"], nil)
	})
	t.Run("reports an error status", func(t *testing.T) {
		t.Parallel()
		has(t, s.call(keepIt("/gone"), nil).fails(t, s.deps, flow.CodeHTTPFailed).Message, "127.0.0.1 answered 410 Gone: it was deleted")
		s.call(keepIt("/cut"), nil).fails(t, s.deps, flow.CodeHTTPFailed)
		has(t, s.call(keepIt("/large"), nil).fails(t, s.deps, flow.CodeHTTPFailed).Message, "512 MiB")
	})
}
