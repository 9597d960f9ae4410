package flow

import (
	"mime"
	"net/url"
	"strings"
)

// FilePolicy is the policy under which a file leaves: a browser runs nothing in
// it, wherever it came from.
const FilePolicy = "sandbox; default-src 'none'"

// ContentType is what was kept, if it can stand in a header.
func (f *File) ContentType() string {
	if media, params, err := mime.ParseMediaType(f.MIME); err == nil && strings.Contains(media, "/") {
		return mime.FormatMediaType(media, params)
	}
	return "application/octet-stream"
}

// ETag stands for the content.
func (f *File) ETag() string { return `"` + f.Hash + `"` }

// Disposition lets a browser show the file or only save it, and names it twice:
// the second form is for names beyond ASCII (RFC 6266), the first for clients
// that read nothing else, such as curl -OJ.
func (f *File) Disposition() string {
	how := "attachment"
	if f.shown() {
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
func (f *File) shown() bool {
	class, kind, _ := strings.Cut(f.MIME, "/")
	return (class == "image" || class == "audio" || class == "video") && !strings.HasPrefix(kind, "svg")
}
