package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mediaTypes maps the file extensions in dist to media types. The mime package is
// not used, because it reads the system's table, which differs between machines.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// asset is an embedded file and the values of its response headers.
type asset struct {
	mediaType, etag string
	gzipped         []byte // as embedded
	// plain decompresses the file for the first client that does not accept gzip.
	plain func() []byte
	// immutable means that the file name contains a hash of the contents, so that
	// browsers never need to revalidate.
	immutable bool
}

// Handler serves /assets/*, compressed if the client accepts gzip. Files with a
// hash in their name may be cached for a year. Other paths return 404.
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
			http.Error(w, "Method not allowed. Use GET.", http.StatusMethodNotAllowed)
			return
		}
		a.serve(w, r)
	})
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.mediaType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if a.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, etag := a.gzipped, a.etag+"-gzip"
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
	} else {
		body, etag = a.plain(), a.etag
	}
	h.Set("ETag", `"`+etag+`"`)
	// The zero time omits Last-Modified: embedded files have no date, and an ETag is
	// enough to revalidate.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// load reads dist. It skips the manifest and other files of unknown type, so they
// are not served.
func load() map[string]*asset {
	assets := map[string]*asset{}
	hashed := map[string]bool{}
	for name, file := range manifest() {
		hashed[file] = name != file
	}
	entries, _ := fs.ReadDir(dist, "dist")
	for _, e := range entries {
		name, isGzipped := strings.CutSuffix(e.Name(), ".gz")
		mediaType := mediaTypes[path.Ext(name)]
		gzipped, err := fs.ReadFile(dist, "dist/"+e.Name())
		if err != nil || !isGzipped || mediaType == "" {
			continue
		}
		sum := sha256.Sum256(gzipped)
		isHashed, listed := hashed[name]
		assets[name] = &asset{
			mediaType: mediaType, etag: hex.EncodeToString(sum[:8]), gzipped: gzipped, immutable: isHashed || !listed,
			plain: sync.OnceValue(func() []byte { return gunzip(gzipped) }),
		}
	}
	return assets
}

// gunzip decompresses an embedded file. It panics on an error, which only a broken
// build can cause.
func gunzip(gzipped []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(gzipped))
	if err != nil {
		panic(fmt.Sprintf("static: decompress an embedded file: %v", err))
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Sprintf("static: decompress an embedded file: %v", err))
	}
	return plain
}

// AcceptsGzip reports whether an Accept-Encoding header accepts gzip. A weight of
// zero means not acceptable (RFC 9110, section 12.5.3).
func AcceptsGzip(accept string) bool {
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
