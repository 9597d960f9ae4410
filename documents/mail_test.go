package documents

import (
	"strings"
	"testing"

	"sluice/e2e/need"
)

func TestMail_reads_messages(t *testing.T) {
	t.Parallel()
	need.Time(t)
	const head = "From: =?utf-8?q?J=C3=B6rg?= <a@example.com>\r\nTo: b@example.com\r\nSubject: =?ISO-8859-1?B?R3L832U=?=\r\n =?utf-8?q?_2?=\r\nMIME-Version: 1.0\r\n"
	const shown = "From: Jörg <a@example.com>\nTo: b@example.com\nSubject: Grüße 2\n\n"
	parts := func(kind string, list ...string) string {
		return "Content-Type: multipart/" + kind + "; boundary=b-" + kind + "\r\n\r\n--b-" + kind + "\r\n" + strings.Join(list, "\r\n--b-"+kind+"\r\n") + "\r\n--b-" + kind + "--\r\n"
	}
	plain := "Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nSch=C3=B6ne Gr=\r\n=C3=BC=C3=9Fe"
	htmlPart := "Content-Type: text/html; charset=windows-1252\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+WvxyaWNoIDxiPmJvbGQ8L2I+PC9wPg=="
	file := "Content-Type: application/pdf; name=\"r.pdf\"\r\nContent-Disposition: attachment; filename*=utf-8''Rechnung%20%C3%BC.pdf\r\nContent-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n"
	for _, c := range []struct{ name, content, want string }{
		{"quoted-printable", head + plain, shown + "Schöne Grüße"},
		{"alternatives", head + parts("alternative", plain, htmlPart), shown + "Schöne Grüße"},
		{"only HTML", head + htmlPart, shown + "Zürich **bold**"},
		{"an empty alternative", head + parts("alternative", "Content-Type: text/plain\r\n\r\n \r\n", htmlPart), shown + "Zürich **bold**"},
		{"attachments", head + parts("mixed", parts("alternative", plain, htmlPart), file), shown + "Schöne Grüße\n\nAttachments:\n- Rechnung ü.pdf (application/pdf, 4 bytes)"},
		{"a forwarded message", head + parts("mixed", plain, "Content-Type: message/rfc822\r\n\r\nFrom: c@example.com\r\nSubject: Inner\r\n\r\nold text"), shown + "Schöne Grüße\n\nAttached message:\nFrom: c@example.com\nSubject: Inner\n\nold text"},
		{"flowed text", head + "Content-Type: text/plain; format=flowed\r\n\r\none \r\nline\r\nnext", shown + "one line\nnext"},
		{"Japanese", head + "Content-Type: text/plain; charset=iso-2022-jp\r\n\r\n\x1b$B$3$s$K$A$O\x1b(B", shown + "こんにちは"},
		{"an undeclared encoding", head + "\r\n\xc4\xee\xe3\xee\xe2\xee\xf0 \xe2\xf1\xf2\xf3\xef\xe0\xe5\xf2 \xe2 \xf1\xe8\xeb\xf3", shown + "Договор вступает в силу"},
		{"a line that is no field", "From: a@example.com\nthis is odd\nSubject: x\nMessage-ID: <1>\n\nbody", "From: a@example.com\nSubject: x\n\nbody"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{Name: "a.eml"}, c.content)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", []any{got.Text, got.Format, got.Truncated}, []any{c.want, "eml", false})
		})
	}
	t.Run("is recognized without a name", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, head+plain)
		same(t, "facts", []any{err, got.Format, got.Title}, []any{nil, "eml", "Grüße 2"})
	})
	t.Run("without text warns", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.eml"}, head+parts("mixed", file))
		same(t, "warnings", []any{err, got.Warnings}, []any{nil, []string{"The message has no text, only attachments."}})
	})
	t.Run("bounds nested parts", func(t *testing.T) {
		t.Parallel()
		nested := plain
		for range 100 {
			nested = parts("mixed", strings.ReplaceAll(nested, "b-mixed", "b-x"))
		}
		got, err := readIn(t.Context(), Request{Name: "a.eml"}, head+strings.Repeat("Content-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\n", 100)+plain)
		if err != nil || !got.Truncated {
			t.Errorf("got %v, %+v", err, got)
		}
		if _, err := readIn(t.Context(), Request{Name: "a.eml"}, head+nested); err != nil {
			t.Error(err)
		}
	})
}

func TestRTF_reads_text(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, c := range []struct{ name, content, want string }{
		{"paragraphs", `{\rtf1\ansi\deff0{\fonttbl{\f0 Arial;}}\f0 Hello \b world\b0\par M\'fcller\line x\tab y}`, "Hello world\nMüller\nx\ty"},
		{"an encoding of the document", `{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2}`, "Привет"},
		{"encodings of fonts", `{\rtf1\ansi{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset238 Arial CE;}{\f2\fcharset128 MS Mincho;}{\f3\fcharset2 Symbol;}}\f0 \'e8{\f1 \'e8}{\f2 \'93\'8c}{\f3 a\'b3}}`, "èč東α≥"},
		{"Unicode", `{\rtf1\ansi\uc1 \u8364?\u-10179?\u-8704?{\uc2\u228 ??}x\~y\_z\-}`, "€😀äx\u00A0y\u2011z\u00AD"},
		{"punctuation", `{\rtf1 \lquote a\rquote\emdash \ldblquote b\rdblquote\bullet \{c\}\\}`, "‘a’—“b”•{c}\\"},
		{"destinations without text", `{\rtf1{\colortbl;\red0;}{\stylesheet{\s0 Normal;}}{\info{\title A title}{\author Ada}}{\*\generator x;}{\header head}{\pict\pngblip 8950}text{\*\unknown y}{\footer foot}}`, "text"},
		{"tables", `{\rtf1\trowd\cellx1\cellx2\intbl Weight\cell Price\par in CHF\cell\row\trowd\intbl 1 kg\cell 7.00\cell\row after\par}`, "Weight\tPrice in CHF\n1 kg\t7.00\nafter"},
		{"lists", `{\rtf1{\listtext\pard\plain 1.\tab}First\par{\listtext\pard\plain 2.\tab}Second\par}`, "1.\tFirst\n2.\tSecond"},
		{"links", `{\rtf1{\field{\*\fldinst HYPERLINK "https://example.com"}{\fldrslt our site}} and {\field{\*\fldinst PAGE}{\fldrslt 3}}}`, "our site (https://example.com) and 3"},
		{"notes", `{\rtf1 a{\footnote\chftn  A note.}b\par}`, "a[1]b\n\nNotes:\n[1] A note."},
		{"hidden and deleted text", `{\rtf1 a{\v hidden}{\deleted gone}b}`, "ab"},
		{"raised digits", `{\rtf1 10{\super 6} H{\sub 2}O}`, "10⁶ H₂O"},
		{"binary data", "{\\rtf1 a{\\*\\x\\bin3 }}}}b}", "ab"},
		{"text boxes", `{\rtf1 before{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt boxed\par}}}after\par}`, "boxed\nbeforeafter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{Name: "a.rtf"}, c.content)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", []any{got.Text, got.Format, got.Truncated}, []any{c.want, "rtf", false})
		})
	}
	t.Run("of a picture is refused", func(t *testing.T) {
		t.Parallel()
		_, err := readIn(t.Context(), Request{}, `{\rtf1{\pict 8950}}`)
		has(t, refusal(t, err), "only pictures")
	})
	t.Run("survives endless groups", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, `{\rtf1 x\par `+strings.Repeat(`{\footnote y`, 100_000))
		if err != nil || !got.Truncated || !strings.HasPrefix(got.Text, "x") {
			t.Errorf("got %v, %+v", err, got)
		}
	})
}
