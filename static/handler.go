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

// types are the media types of the files in dist. The mime package is not used:
// it reads the system's table, which differs between machines.
var types = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// asset is a file with its response headers.
type asset struct {
	mediaType, etag string
	packed          []byte // gzip, as embedded
	// plain decompresses the file for the first client that does not accept gzip.
	plain func() []byte
	// lasting reports that the name changes with the contents, so that browsers
	// never have to ask again.
	lasting bool
}

// Handler serves /assets/*, compressed if the browser accepts gzip, with a cache
// lifetime of a year. Other paths are 404.
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
	if a.lasting {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, etag := a.packed, a.etag+"-gzip"
	if TakesGzip(r.Header.Get("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
	} else {
		body, etag = a.plain(), a.etag
	}
	h.Set("ETag", `"`+etag+`"`)
	// The zero time omits Last-Modified: embedded files have no date, and the ETag
	// is enough to revalidate.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// load reads dist. The manifest and other files of unknown type are not served.
func load() map[string]*asset {
	assets := map[string]*asset{}
	hashed := map[string]bool{}
	for name, file := range manifest() {
		hashed[file] = name != file
	}
	entries, _ := fs.ReadDir(dist, "dist")
	for _, e := range entries {
		name, isPacked := strings.CutSuffix(e.Name(), ".gz")
		mediaType := types[path.Ext(name)]
		packed, err := fs.ReadFile(dist, "dist/"+e.Name())
		if err != nil || !isPacked || mediaType == "" {
			continue
		}
		sum := sha256.Sum256(packed)
		lasts, named := hashed[name]
		assets[name] = &asset{
			mediaType: mediaType, etag: hex.EncodeToString(sum[:8]), packed: packed, lasting: lasts || !named,
			plain: sync.OnceValue(func() []byte { return unpack(packed) }),
		}
	}
	return assets
}

// unpack decompresses an embedded file.
func unpack(packed []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		panic(fmt.Sprintf("static: an embedded file: %v", err)) // a broken build; it cannot happen at run time
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		panic(fmt.Sprintf("static: an embedded file: %v", err))
	}
	return plain
}

// TakesGzip reports whether an Accept-Encoding header accepts gzip. A weight of
// zero means not acceptable (RFC 9110, section 12.5.3).
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
