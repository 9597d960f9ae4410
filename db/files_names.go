package db

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

// generic says nothing about content.
const generic = "application/octet-stream"

// mediaType is the type of content, without parameters: what was claimed,
// where that says something and can be believed, else what the content is.
func mediaType(claimed string, head []byte) string {
	claimed, _, err := mime.ParseMediaType(claimed)
	is, _, _ := strings.Cut(mimetype.Detect(head).String(), ";")
	switch {
	case err != nil || claimed == generic || !strings.Contains(claimed, "/"):
		return is
	case !shown(claimed), sameContainer(claimed, is):
		return claimed
	}
	return is // also where the claim is an older name of it
}

// shown tells whether a browser shows the type, so that a wrong claim harms.
func shown(typ string) bool {
	family, _, _ := strings.Cut(typ, "/")
	return family == "image" || family == "audio" || family == "video" || typ == "text/html" || typ == "application/xhtml+xml"
}

// sameContainer tells whether two types differ only in whether there is a
// picture with the sound, which the first bytes do not tell: a recording as
// audio/webm looks like video/webm.
func sameContainer(a, b string) bool {
	x, sub1, _ := strings.Cut(a, "/")
	y, sub2, _ := strings.Cut(b, "/")
	timed := func(family string) bool { return family == "audio" || family == "video" }
	return sub1 == sub2 && timed(x) && timed(y)
}

var nameEnding = regexp.MustCompile(`\.[A-Za-z0-9]{1,10}$`)

// fileName makes a name that is safe to show and to save under: without
// directories, without characters that steer, with an ending that says what it
// is.
func fileName(name, typ string) string {
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "\uFFFD"), `\`, "/"))
	name = strings.Trim(strings.Map(visible, name), "/. ")
	ending := nameEnding.FindString(name)
	stem := cmp.Or(strings.TrimSuffix(name, ending), "file")
	if found := mimetype.Lookup(typ); ending == "" && found != nil {
		ending = found.Extension()
	}
	if room := maxFileName - len(ending); utf8.RuneCountInString(stem) > room {
		stem = string([]rune(stem)[:room])
	}
	return stem + ending
}

// visible drops control characters and those that turn the reading direction,
// with which "gpj.exe" can be made to look like "exe.jpg".
func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
		return -1
	}
	return r
}
