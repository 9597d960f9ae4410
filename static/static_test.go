package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"sluice/nodes"
)

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	return request(t, http.MethodGet, path, header...)
}

func request(t *testing.T, method, path string, header ...string) *http.Response {
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
			if got := r.Header.Get("Content-Type"); got != mediaTypes[name[strings.LastIndex(name, "."):]] {
				t.Errorf("%s: Content-Type %q", name, got)
			}
		}
	})
	t.Run("compresses if the client accepts gzip", func(t *testing.T) {
		t.Parallel()
		plain, gzipped := get(t, URL("app.js")), get(t, URL("app.js"), "Accept-Encoding", "br, gzip;q=0.8")
		if gzipped.Header.Get("Content-Encoding") != "gzip" || gzipped.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("headers: %v", gzipped.Header)
		}
		decompressed, err := gzip.NewReader(gzipped.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(decompressed); err != nil || !bytes.Equal(text, body(t, plain)) {
			t.Errorf("the decompressed body differs from the plain one: %v", err)
		}
		if r := get(t, URL("app.js"), "Accept-Encoding", "gzip;q=0"); r.Header.Get("Content-Encoding") != "" {
			t.Error("got a compressed body for gzip;q=0")
		}
	})
	t.Run("returns 304 for an unchanged asset", func(t *testing.T) {
		t.Parallel()
		tag := get(t, URL("app.css")).Header.Get("ETag")
		if r := get(t, URL("app.css"), "If-None-Match", tag); r.StatusCode != http.StatusNotModified {
			t.Errorf("%s", r.Status)
		}
	})
	t.Run("returns 404 for other paths and 405 for other methods", func(t *testing.T) {
		t.Parallel()
		for _, path := range []string{"/assets/", "/assets/manifest.json", "/assets/../static.go", "/assets/app.js", URL("no-such-thing")} {
			if r := get(t, path); r.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s", path, r.Status)
			}
		}
		if r := request(t, http.MethodPost, URL("app.js")); r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("POST: %s", r.Status)
		}
	})
}

// TestSizes bounds what a page downloads before it is usable on a slow connection.
func TestSizes(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"app.js": 50 << 10, "app.css": 10 << 10, "canvas.css": 8 << 10, "pages.css": 7 << 10, "panes.css": 7 << 10, "late.css": 7 << 10, "icons.svg": 8 << 10} {
		if size := eager(t, strings.TrimPrefix(URL(name), Prefix), map[string]bool{}); size > limit {
			t.Errorf("%s is %d bytes compressed, want at most %d", name, size, limit)
		}
	}
}

// TestEditorSize bounds the first download of the builder. Chunks that are loaded
// on first use (layout, code fields, the API pane) are not counted.
func TestEditorSize(t *testing.T) {
	t.Parallel()
	const limit = 112 << 10
	app := strings.TrimPrefix(URL("app.js"), Prefix)
	parts := []string{app, strings.TrimPrefix(URL("app.css"), Prefix), strings.TrimPrefix(URL("canvas.css"), Prefix)}
	for _, m := range builderImport.FindAllSubmatch(body(t, get(t, Prefix+app)), -1) {
		parts = append(parts, string(m[1]))
	}
	if len(parts) != 5 {
		t.Fatalf("app.js imports %v, want the chunks of the builder and the canvas among them", parts)
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
			t.Errorf("the builder preloads %v, but needs %v", preloaded, seen)
		}
	}
	t.Logf("the first download of the editor is %d bytes compressed", size)
	if size > limit {
		t.Errorf("the editor is larger than the limit of %d bytes", limit)
	}
}

// eager returns the compressed size of a file and of its static imports, each counted
// once. It does not follow dynamic imports.
func eager(t *testing.T, file string, seen map[string]bool) int {
	t.Helper()
	if seen[file] {
		return 0
	}
	seen[file] = true
	text, size := body(t, get(t, Prefix+file)), len(body(t, get(t, Prefix+file, "Accept-Encoding", "gzip")))
	if strings.HasSuffix(file, ".js") {
		for _, m := range staticImport.FindAllSubmatch(text, -1) {
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
			t.Errorf("icon %[2]q of kind %[1]s is missing in src/icons.txt", kind.Name, kind.Icon)
		}
	}
}

// TestPackageLock_names_no_registry keeps the lock file usable with a registry mirror.
func TestPackageLock_names_no_registry(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) {
		t.Error("package-lock.json contains registry URLs; install with --omit-lockfile-registry-resolved")
	}
}
