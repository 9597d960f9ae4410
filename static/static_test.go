package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice/nodes"
)

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	return ask(t, http.MethodGet, path, header...)
}

func ask(t *testing.T, method, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) []byte {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestHandler(t *testing.T) {
	t.Parallel()
	t.Run("serves every named asset with its type, cached for a year", func(t *testing.T) {
		t.Parallel()
		for _, name := range []string{"app.js", "app.css", "canvas.css", "icons.svg", "favicon.svg"} {
			r := get(t, URL(name))
			if r.StatusCode != http.StatusOK || len(body(t, r)) == 0 {
				t.Errorf("%s: %s", name, r.Status)
			}
			if got := r.Header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
				t.Errorf("%s: Cache-Control %q", name, got)
			}
			if got := r.Header.Get("Content-Type"); got != types[name[strings.LastIndex(name, "."):]] {
				t.Errorf("%s: Content-Type %q", name, got)
			}
		}
	})
	t.Run("compresses if the client accepts it", func(t *testing.T) {
		t.Parallel()
		plain, packed := get(t, URL("app.js")), get(t, URL("app.js"), "Accept-Encoding", "br, gzip;q=0.8")
		if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("headers: %v", packed.Header)
		}
		unpack, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(unpack); err != nil || !bytes.Equal(text, body(t, plain)) {
			t.Errorf("unpacked differs from plain: %v", err)
		}
		if r := get(t, URL("app.js"), "Accept-Encoding", "gzip;q=0"); r.Header.Get("Content-Encoding") != "" {
			t.Error("compressed although the client refused it")
		}
	})
	t.Run("reports an unchanged asset", func(t *testing.T) {
		t.Parallel()
		tag := get(t, URL("app.css")).Header.Get("ETag")
		if r := get(t, URL("app.css"), "If-None-Match", tag); r.StatusCode != http.StatusNotModified {
			t.Errorf("%s", r.Status)
		}
	})
	t.Run("responds 404 to other paths", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/assets/", "/assets/manifest.json", "/assets/../static.go", "/assets/app.js", URL("no-such-thing")} {
			if r := get(t, path); r.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", path, r.Status)
			}
		}
		if r := ask(t, http.MethodPost, URL("app.js")); r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: %s", r.Status)
		}
	})
}

// TestSizes bounds what a page downloads before it is usable on a slow connection.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"app.js": 50 << 10, "app.css": 10 << 10, "canvas.css": 8 << 10, "pages.css": 7 << 10, "panes.css": 6 << 10, "icons.svg": 8 << 10} {
		if size := eager(t, strings.TrimPrefix(URL(name), Prefix), map[string]bool{}); size > limit {
			t.Errorf("%s is %d bytes compressed, more than %d", name, size, limit)
		}
	}
}

var loaded = regexp.MustCompile(`import\("\./((?:builder|canvas)-[^"]+)"\)`)

// TestEditorSize bounds the first download of the builder. Chunks that are loaded
// on first use (layout, code fields, the API pane) are not counted.
func TestEditorSize(t *testing.T) {
	t.Parallel()
	const limit = 110 << 10
	app := strings.TrimPrefix(URL("app.js"), Prefix)
	parts := []string{app, strings.TrimPrefix(URL("app.css"), Prefix), strings.TrimPrefix(URL("canvas.css"), Prefix)}
	for _, m := range loaded.FindAllSubmatch(body(t, get(t, Prefix+app)), -1) {
		parts = append(parts, string(m[1]))
	}
	if len(parts) != 5 {
		t.Fatalf("the builder needs %v, which lacks its chunk or that of the canvas", parts)
	}
	seen, size := map[string]bool{}, 0
	for _, file := range parts {
		size += eager(t, file, seen)
	}
	preloaded := map[string]bool{app: true}
	for _, path := range BuilderScripts() {
		preloaded[strings.TrimPrefix(path, Prefix)] = true
	}
	for file := range seen {
		if strings.HasSuffix(file, ".js") && !preloaded[file] || len(preloaded) > len(seen) {
			t.Errorf("the builder preloads %v, and needs %v", preloaded, seen)
		}
	}
	t.Logf("the first download of the editor is %d bytes compressed", size)
	if size > limit {
		t.Errorf("that is more than %d", limit)
	}
}

var imported = regexp.MustCompile(`(?:from|import)\s*"\./([^"]+)"`)

// eager returns the compressed size of a file and of its static imports. Dynamic
// imports are calls of import(), which the pattern does not match.
func eager(t *testing.T, file string, seen map[string]bool) int {
	t.Helper()
	if seen[file] {
		return 0
	}
	seen[file] = true
	text, size := body(t, get(t, Prefix+file)), len(body(t, get(t, Prefix+file, "Accept-Encoding", "gzip")))
	if strings.HasSuffix(file, ".js") {
		for _, m := range imported.FindAllSubmatch(text, -1) {
			size += eager(t, string(m[1]), seen)
		}
	}
	return size
}

func TestIcons(t *testing.T) {
	t.Parallel()
	sprite := string(body(t, get(t, URL("icons.svg"))))
	for _, kind := range nodes.New(nodes.Deps{}).List() {
		if !strings.Contains(sprite, `id="`+kind.Icon+`"`) {
			t.Errorf("kind %s names icon %q, which src/icons.txt lacks", kind.Name, kind.Icon)
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) {
		t.Error("package-lock.json names a registry's host; install with --omit-lockfile-registry-resolved")
	}
}
