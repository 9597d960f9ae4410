package documents

import (
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/need"
)

const wordBegin = `<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>`

// wordDocument has a heading, a table, a deleted word and a line break.
func wordDocument(t *testing.T) string {
	t.Helper()
	return zipped(t, "[Content_Types].xml", `<Types/>`,
		"docProps/core.xml", `<cp:coreProperties xmlns:cp="x" xmlns:dc="y"><dc:title>Terms &amp; more</dc:title><dc:creator>Ada</dc:creator></cp:coreProperties>`,
		"word/document.xml", wordBegin+`
<w:p><w:pPr><w:pStyle w:val="Heading1"/><w:tabs><w:tab w:val="left"/></w:tabs></w:pPr><w:r><w:t>Delivery</w:t></w:r><w:r><w:t xml:space="preserve"> terms</w:t></w:r></w:p>
<w:p><w:r><w:t>Three days</w:t><w:tab/><w:t>at most.</w:t><w:br/><w:t>Zürich too.</w:t></w:r><w:del><w:r><w:delText>never</w:delText></w:r></w:del></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Weight</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Price</w:t></w:r></w:p><w:p><w:r><w:t>in CHF</w:t></w:r></w:p></w:tc></w:tr>
<w:tr><w:tc><w:p><w:r><w:t>1 kg</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>7.00</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>`)
}

// wordNotes has a text box, footnotes, an endnote and a comment.
func wordNotes(t *testing.T) string {
	t.Helper()
	const ns = ` xmlns:w="w" xmlns:mc="mc"`
	box := func(text string) string {
		return `<w:r><mc:AlternateContent><mc:Choice><w:txbxContent>` + text + `</w:txbxContent></mc:Choice><mc:Fallback><w:pict><w:txbxContent>` + text + `</w:txbxContent></w:pict></mc:Fallback></mc:AlternateContent></w:r>`
	}
	return zipped(t, "word/document.xml", wordBegin+`<w:p><w:r><w:t>Parcels</w:t><w:footnoteReference w:id="2"/></w:r>`+
		box(`<w:p><w:r><w:t>In the box,</w:t></w:r></w:p><w:p><w:r><w:t>two lines.</w:t></w:r></w:p>`)+
		`<w:r><w:t xml:space="preserve"> travel</w:t><w:endnoteReference w:id="1"/><w:t xml:space="preserve"> fast.</w:t><w:commentReference w:id="0"/></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>A</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>cell </w:t></w:r>`+box(`<w:p><w:r><w:t>boxed in</w:t></w:r></w:p>`)+`</w:p></w:tc></w:tr></w:tbl></w:body></w:document>`,
		"word/footnotes.xml", `<w:footnotes`+ns+`><w:footnote w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:footnote><w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> Up to 5 kg.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
		"word/endnotes.xml", `<w:endnotes`+ns+`><w:endnote w:id="1"><w:p><w:r><w:t>By train.</w:t></w:r></w:p></w:endnote></w:endnotes>`,
		"word/comments.xml", `<w:comments`+ns+`><w:comment w:id="0" w:author="Ada" w:date="2026-01-01"><w:p><w:r><w:t>Really?</w:t></w:r></w:p></w:comment></w:comments>`)
}

func slides(t *testing.T) string {
	t.Helper()
	slide := func(text string) string {
		return `<p:sld xmlns:a="a" xmlns:p="p"><a:p><a:r><a:t>` + text + `</a:t></a:r><a:br/><a:r><a:t>below</a:t></a:r></a:p></p:sld>`
	}
	return zipped(t, "ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>`,
		"ppt/slides/_rels/slide2.xml.rels", `<Relationships><Relationship Id="n" Type="http://x/notesSlide" Target="../notesSlides/n.xml"/></Relationships>`,
		"ppt/notesSlides/n.xml", `<p:notes xmlns:a="a" xmlns:p="p"><a:p><a:r><a:t>Say hello.</a:t></a:r></a:p><a:p><a:fld><a:t>1</a:t></a:fld></a:p></p:notes>`,
		"ppt/slides/slide1.xml", slide("Last"), "ppt/slides/slide2.xml", slide("First"))
}

func openText(t *testing.T) string {
	t.Helper()
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "meta.xml", `<m><dc:title>Open</dc:title></m>`,
		"content.xml", `<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h><text:p>One<text:s/>two<text:tab/><text:span>three</text:span><text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A footnote.</text:p></text:note-body></text:note></text:p><text:p>four<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame><office:annotation><dc:creator>Ada</dc:creator><dc:date>2026</dc:date><text:p>Why?</text:p></office:annotation></text:p><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></office:text>`)
}

func TestRead(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, c := range []struct {
		name, content string
		req           Request
		want          Document
	}{
		{"Word", wordDocument(t), Request{Name: "a.docx"}, Document{Format: "docx", Title: "Terms & more", Pages: 1,
			Text: "Delivery terms\nThree days\tat most.\nZürich too.\nWeight\tPrice in CHF\n1 kg\t7.00"}},
		{"Word with notes", wordNotes(t), Request{}, Document{Format: "docx", Pages: 1,
			Text: "In the box,\ntwo lines.\nParcels[1] travel[2] fast.[comment 1]\nA\tcell boxed in\n\nNotes:\n[1] Up to 5 kg.\n[2] By train.\n\nComments:\n[comment 1] Ada: Really?"}},
		{"PowerPoint", slides(t), Request{Name: "a.pptx"}, Document{Format: "pptx", Pages: 2, Text: "First\nbelow\n\nNotes:\nSay hello.\n\nLast\nbelow"}},
		{"the first slides", slides(t), Request{MaxPages: 1}, Document{Format: "pptx", Pages: 2, Text: "First\nbelow\n\nNotes:\nSay hello.", Truncated: true}},
		{"OpenDocument", openText(t), Request{Name: "a.odt"}, Document{Format: "odt", Title: "Open", Pages: 1,
			Text: "Head\nOne two\tthree[1]\nboxed\nfour[comment 1]\na\tb\n\nNotes:\n[1] A footnote.\n\nComments:\n[comment 1] Ada: Why?"}},
		{"HTML", "<title>T &amp; t</title><script>x()</script><h1>Häd</h1><p>See <a href='b'>this</a>.", Request{Name: "a.html", MIME: "text/html"},
			Document{Format: "html", Title: "T & t", Pages: 1, Text: "# Häd\n\nSee [this](b)."}},
		{"HTML in an older encoding", "<meta charset=iso-8859-1><p>Z\xfcrich", Request{Name: "a", MIME: "text/html"}, Document{Format: "html", Pages: 1, Text: "Zürich"}},
		{"HTML that says it is text", "<p>as it is</p>", Request{Name: "a.txt", MIME: "text/plain"}, Document{Format: "text", Pages: 1, Text: "<p>as it is</p>"}},
		{"Markdown", "---\ntitle: x\n---\n# A\n", Request{Name: "a.md"}, Document{Format: "markdown", Pages: 1, Text: "---\ntitle: x\n---\n# A\n"}},
		{"CSV", "\xef\xbb\xbfa;b\nZ\xc3\xbcrich;2\n", Request{Name: "a.csv"}, Document{Format: "csv", Pages: 1, Text: "a;b\nZürich;2\n",
			Tables: []Table{{Name: "a", Rows: []map[string]string{{"a": "Zürich", "b": "2"}}}}}},
		{"CSV in Windows-1252", "a;b\nZ\xfcrich;\x80 2\n", Request{Name: "a.csv"}, Document{Format: "csv", Pages: 1, Text: "a;b\nZürich;€ 2\n",
			Tables: []Table{{Name: "a", Rows: []map[string]string{{"a": "Zürich", "b": "€ 2"}}}}}},
		{"CSV with quotes and rows of different length", "name,note\r\n\"Ada, L.\",\"two\nlines\",more\r\nBob\r\n", Request{Name: "in/people.csv"}, Document{Format: "csv", Pages: 1,
			Text:   "name,note\r\n\"Ada, L.\",\"two\nlines\",more\r\nBob\r\n",
			Tables: []Table{{Name: "people", Rows: []map[string]string{{"name": "Ada, L.", "note": "two\nlines", "C": "more"}, {"name": "Bob"}}}}}},
		{"tab-separated values", "a\tb, c\n1\t2\n", Request{MIME: "text/tab-separated-values"}, Document{Format: "csv", Pages: 1, Text: "a\tb, c\n1\t2\n",
			Tables: []Table{{Rows: []map[string]string{{"a": "1", "b, c": "2"}}}}}},
		{"text in UTF-16", "\xff\xfeZ\x00\xfc\x00", Request{Name: "a.txt"}, Document{Format: "text", Pages: 1, Text: "Zü"}},
		{"text of a declared charset", "\xf0\xd2\xc9", Request{MIME: "text/plain; charset=koi8-r"}, Document{Format: "text", Pages: 1, Text: "При"}},
		{"nothing", "", Request{Name: "a.txt"}, Document{Format: "text", Pages: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), c.req, c.content)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c.want.Text)
			got.Encoding, got.Warnings = "", nil // see TestEncoding_that_does_not_fit_is_reported
			for i := range got.Tables {
				got.Tables[i].Columns = nil // see TestTables_read_like_spreadsheets
			}
			same(t, "document", got, c.want)
		})
	}
	t.Run("cuts a Word file that is too long", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("word ", MaxText/5+1)
		got, err := readIn(t.Context(), Request{}, zipped(t, "word/document.xml", wordBegin+"<w:p><w:r><w:t>"+long[:MaxText/2]+"</w:t><w:t>"+long+"</w:t></w:r></w:p></w:body>"))
		if err != nil || len(got.Text) != MaxText || !got.Truncated {
			t.Errorf("got %v, %+v", err, got.Truncated)
		}
	})
	t.Run("cuts a title that is too long", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.html"}, "<!doctype html><title>"+strings.Repeat("é", 1<<20)+"</title><p>text")
		same(t, "title", []any{err, got.Title, got.Text}, []any{nil, strings.Repeat("é", maxAbout) + "…", "text"})
	})
	t.Run("cuts a text that is too long", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Name: "a.txt"}, "x"+strings.Repeat("é", MaxText/2))
		if err != nil || len(got.Text) > MaxText || !strings.HasSuffix(got.Text, "é") || !got.Truncated {
			t.Errorf("got %v, %d bytes", err, len(got.Text))
		}
	})
}

func TestParsePages(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]pageRange{
		"": nil, " , ": nil, "3": {{3, 3}}, "1-5": {{1, 5}}, "2, 4 - 6,9-": {{2, 2}, {4, 6}, {9, 1 << 30}},
	} {
		got, err := parsePages(s)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"0", "5-1", "a", "-3", "1-2-3", "1;2", "99999999999999999999"} {
		if got, err := parsePages(s); err == nil {
			t.Errorf("%q: got %v", s, got)
		}
	}
}
