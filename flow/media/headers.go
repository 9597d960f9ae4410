package media

import (
	"mime"
	"net/url"
	"strings"

	"sluice/flow"
)

// Policy is the Content-Security-Policy of every file response: a browser runs
// nothing in the file, wherever it came from.
const Policy = "sandbox; default-src 'none'"

// ContentType returns the stored type of a file if it is valid in a header, otherwise that
// of unknown content.
func ContentType(f *flow.File) string {
	if media, params, err := mime.ParseMediaType(f.MIME); err == nil && strings.Contains(media, "/") {
		return mime.FormatMediaType(media, params)
	}
	return "application/octet-stream"
}

// ETag returns the entity tag of the content: its hash.
func ETag(f *flow.File) string { return `"` + f.Hash + `"` }

// Disposition lets a browser show the file or only save it, and names it twice:
// the second form is for names beyond ASCII (RFC 6266), the first for clients
// that read nothing else, such as curl -OJ.
func Disposition(f *flow.File) string {
	how := "attachment"
	if shown(f) {
		how = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, f.Name)
	return how + `; filename="` + plain + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(f.Name), "+", "%20")
}

// shown reports whether a browser may show the file in a page. The store believes
// no claim to be a picture, sound or film that the content does not bear out.
// Pictures in SVG are documents with scripts.
func shown(f *flow.File) bool {
	class, kind, _ := strings.Cut(f.MIME, "/")
	return (class == "image" || class == "audio" || class == "video") && !strings.HasPrefix(kind, "svg")
}
