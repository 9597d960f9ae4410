package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// types are the media types of what dist holds. The system's own table differs
// from machine to machine.
var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// asset is one file, as it goes out.
type asset struct {
	kind, etag string
	plain      []byte
	// packed is made at the first request for it: compressing all of dist takes
	// some 50 ms that a start should not wait for.
	packed func() []byte
	// lasting tells that the name changes with the contents.
	lasting bool
}

// Handler serves /assets/*: compressed where the browser takes it, kept by it
// for a year, 404 for all else.
func Handler() http.Handler {
	assets := load()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets[strings.TrimPrefix(r.URL.Path, Prefix)]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Assets are only read.", http.StatusMethodNotAllowed)
			return
		}
		a.serve(w, r)
	})
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if a.lasting {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, etag := a.plain, a.etag
	if TakesGzip(r.Header.Get("Accept-Encoding")) {
		body, etag = a.packed(), a.etag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+etag+`"`)
	// No time: the ETag says all, and a build has no date of its own.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// load reads dist, without the manifest, which is nobody's business outside.
func load() map[string]*asset {
	assets := map[string]*asset{}
	hashed := map[string]bool{}
	for name, file := range manifest() {
		hashed[file] = name != file
	}
	entries, _ := fs.ReadDir(dist, "dist")
	for _, e := range entries {
		kind := types[path.Ext(e.Name())]
		text, err := fs.ReadFile(dist, "dist/"+e.Name())
		if err != nil || kind == "" {
			continue
		}
		sum := sha256.Sum256(text)
		lasts, named := hashed[e.Name()]
		assets[e.Name()] = &asset{
			kind: kind, etag: hex.EncodeToString(sum[:8]), plain: text, lasting: lasts || !named,
			packed: sync.OnceValue(func() []byte { return pack(text) }),
		}
	}
	return assets
}

func pack(text []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // fails for unknown levels alone
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Bytes()
}

// TakesGzip tells whether an Accept-Encoding header takes gzip: a coding with
// weight zero is refused.
func TakesGzip(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		coding, params, _ := strings.Cut(part, ";")
		if !strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			continue
		}
		_, weight, found := strings.Cut(params, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		return !found || err != nil || q > 0
	}
	return false
}
