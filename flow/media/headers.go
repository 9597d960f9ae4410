package media

import (
	"mime"
	"net/url"
	"strings"

	"sluice/flow"
)

// Policy is the Content-Security-Policy of every file response. It keeps browsers from
// running scripts in files, which come from untrusted sources.
const Policy = "sandbox; default-src 'none'"

// ContentType returns the stored type of a file if it is valid in a header, otherwise
// application/octet-stream.
func ContentType(f *flow.File) string {
	if media, params, err := mime.ParseMediaType(f.MIME); err == nil && strings.Contains(media, "/") {
		return mime.FormatMediaType(media, params)
	}
	return "application/octet-stream"
}

// ETag returns the entity tag of the content: its hash.
func ETag(f *flow.File) string { return `"` + f.Hash + `"` }

// Disposition returns the Content-Disposition of a file, inline only for types that are
// safe to render. It contains the name twice: filename* supports names beyond ASCII (RFC
// 6266), and filename is for clients that do not read it, such as curl -OJ.
func Disposition(f *flow.File) string {
	how := "attachment"
	if isSafeInline(f) {
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

// isSafeInline reports whether a browser may render the file: an image, audio or video. Type has
// verified such a claim against the content. SVG is excluded, because it can contain
// scripts.
func isSafeInline(f *flow.File) bool {
	class, kind, _ := strings.Cut(f.MIME, "/")
	return (class == "image" || class == "audio" || class == "video") && !strings.HasPrefix(kind, "svg")
}
