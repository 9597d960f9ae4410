package media

import (
	"cmp"
	"mime"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gabriel-vasile/mimetype"
)

// maxFileName bounds a file's name, in characters.
const maxFileName = 200

// genericType is the media type of unknown content.
const genericType = "application/octet-stream"

// Type returns the type of content without parameters: the claimed type
// if it is specific and harmless, otherwise the type detected from the first
// bytes.
func Type(claimed string, head []byte) string {
	claimed, _, err := mime.ParseMediaType(claimed)
	detected, _, _ := strings.Cut(mimetype.Detect(head).String(), ";")
	switch {
	case err != nil || claimed == genericType || !strings.Contains(claimed, "/"):
		return detected
	case !isRendered(claimed), isSameContainer(claimed, detected):
		return claimed
	}
	return detected // also if the claim is an older name of the same type
}

// isRendered reports whether browsers render the type, so that a false claim would be a
// security risk.
func isRendered(typ string) bool {
	family, _, _ := strings.Cut(typ, "/")
	return family == "image" || family == "audio" || family == "video" || typ == "text/html" || typ == "application/xhtml+xml"
}

// isSameContainer reports whether two types differ only in being audio or video.
// The first bytes do not show that: a recording as audio/webm is detected as
// video/webm.
func isSameContainer(a, b string) bool {
	x, sub1, _ := strings.Cut(a, "/")
	y, sub2, _ := strings.Cut(b, "/")
	timed := func(family string) bool { return family == "audio" || family == "video" }
	return sub1 == sub2 && timed(x) && timed(y)
}

var fileExtension = regexp.MustCompile(`\.[A-Za-z0-9]{1,10}$`)

// FileName returns a name that is safe to show and to save under: without
// directories and control characters, and with an extension that fits the type.
func FileName(name, typ string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), `\`, "/"))
	name = strings.Trim(strings.Map(dropInvisible, name), "/. ")
	extension := fileExtension.FindString(name)
	stem := cmp.Or(strings.TrimSuffix(name, extension), "file")
	if found := mimetype.Lookup(typ); extension == "" && found != nil {
		extension = found.Extension()
	}
	if most := maxFileName - len(extension); utf8.RuneCountInString(stem) > most {
		stem = string([]rune(stem)[:most])
	}
	return stem + extension
}

// dropInvisible drops control characters, including those that change the reading
// direction, which can disguise an extension: "gpj.exe" is shown as "exe.jpg".
func dropInvisible(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
		return -1
	}
	return r
}

// IsJSON reports whether a media type is JSON, including types such as application/problem+json (RFC 6839).
func IsJSON(mediaType string) bool {
	return mediaType == "application/json" || mediaType == "text/json" || strings.HasSuffix(mediaType, "+json")
}
