package media_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"sluice/flow/media"
)

func TestFileName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 300)
	for _, c := range []struct{ name, typ, want string }{
		{"photo.png", "image/png", "photo.png"},
		{"../../etc/passwd", "text/plain", "passwd.txt"},
		{`C:\Users\me\report.pdf`, "application/pdf", "report.pdf"},
		{"", "image/png", "file.png"}, {"///", "image/png", "file.png"}, {"..", "", "file"}, {".", "audio/wav", "file.wav"},
		{"a\x00b\r\nc\x7f.txt", "text/plain", "abc.txt"},
		{"\u202egpj.exe", "application/octet-stream", "gpj.exe"},
		{"a\xffb.txt", "", "a\uFFFDb.txt"},
		{"v1. a long tale", "text/plain", "v1. a long tale.txt"},
		{"no type", "", "no type"}, {".hidden", "text/plain", "hidden.txt"}, {" spaced .md. ", "text/plain", "spaced .md"},
		{long + ".png", "image/png", long[:2*196] + ".png"},
		{long, "image/png", long[:2*196] + ".png"},
	} {
		got := media.FileName(c.name, c.typ)
		if got != c.want || utf8.RuneCountInString(got) > 200 {
			t.Errorf("%q of %s: got %q, want %q", c.name, c.typ, got, c.want)
		}
	}
}

func TestMediaType(t *testing.T) {
	t.Parallel()
	const png, html, webm = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "<!DOCTYPE html><script>alert(1)</script>", "\x1a\x45\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm"
	for _, c := range []struct{ name, claimed, head, want string }{
		{"nothing is claimed", "", png, "image/png"},
		{"something generic", "application/octet-stream", png, "image/png"},
		{"no type at all", "picture", png, "image/png"},
		{"the truth", "image/png", png, "image/png"},
		{"with parameters, in capitals", "Text/Plain; charset=latin1", "words", "text/plain"},
		{"a picture that is a page", "image/png", html, "text/html"},
		{"a page that is a picture", "text/html", png, "image/png"},
		{"a picture that is nothing", "image/png", "\x00\x01\x02\x03", "application/octet-stream"},
		{"an older name of the type", "audio/x-wav", "RIFF\x24\x00\x00\x00WAVEfmt ", "audio/wav"},
		{"sound in a container for pictures", "audio/webm", webm, "audio/webm"},
		{"something a browser does not show", "text/csv", "a,b\n1,2", "text/csv"},
		{"words", "", "just words", "text/plain"},
	} {
		if got := media.Type(c.claimed, []byte(c.head)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
