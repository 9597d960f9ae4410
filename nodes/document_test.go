package nodes

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/flow"
)

// document is a document node on a file in a world of its own.
func readKept(t *testing.T, name, mime, content string, config map[string]any) ran {
	t.Helper()
	w := newWorld()
	all := map[string]any{"file": w.files.put(t, name, mime, content)}
	for field, value := range config {
		all[field] = value
	}
	return use{kind: "document", ports: map[string]any{"file": all["file"]}, config: without(all, "file")}.carryIn(t, w, fakes())
}

func without(m map[string]any, name string) map[string]any {
	delete(m, name)
	return m
}

func testFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/document/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// zipped is a ZIP of parts, in pairs of name and content.
func zipped(t *testing.T, parts ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(parts); i += 2 {
		w, err := z.Create(parts[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, parts[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

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

func workbook(t *testing.T) string {
	t.Helper()
	return zipped(t, "xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="Prices" sheetId="1" r:id="rId1"/><sheet name="Notes" sheetId="2" r:id="rId2"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="rId1" Target="worksheets/one.xml"/><Relationship Id="rId2" Target="/xl/worksheets/two.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst><si><t>Weight</t></si><si><r><t>Pri</t></r><r><t>ce</t></r><rPh><t>プ</t></rPh></si></sst>`,
		"xl/worksheets/one.xml", `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row r="2"/><row r="3"><c r="A3"><v>1.5</v></c><c r="B3" t="b"><v>1</v></c><c r="C3"><f>A3*2</f><v>3</v></c></row></sheetData></worksheet>`,
		"xl/worksheets/two.xml", `<worksheet><sheetData><row><c t="inlineStr"><is><t>Only here</t></is></c><c t="s"><v>99</v></c></row></sheetData></worksheet>`)
}

func slides(t *testing.T) string {
	t.Helper()
	slide := func(text string) string {
		return `<p:sld xmlns:a="a" xmlns:p="p"><a:p><a:r><a:t>` + text + `</a:t></a:r><a:br/><a:r><a:t>below</a:t></a:r></a:p></p:sld>`
	}
	return zipped(t, "ppt/presentation.xml", `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="256" r:id="b"/><p:sldId id="257" r:id="a"/></p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", `<Relationships><Relationship Id="a" Target="slides/slide1.xml"/><Relationship Id="b" Target="slides/slide2.xml"/></Relationships>`,
		"ppt/slides/slide1.xml", slide("Last"), "ppt/slides/slide2.xml", slide("First"))
}

func openText(t *testing.T) string {
	t.Helper()
	return zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "meta.xml", `<m><dc:title>Open</dc:title></m>`,
		"content.xml", `<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h><text:p>One<text:s/>two<text:tab/><text:span>three</text:span></text:p><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></office:text>`)
}

func TestDocument(t *testing.T) {
	t.Parallel()
	skipShort(t)
	for _, c := range []struct {
		name, file, mime, content string
		config                    map[string]any
		format, title, text       string
		pages                     string
		truncated                 bool
	}{
		{"Word", "a.docx", "", wordDocument(t), nil, "docx", "Terms & more", "Delivery terms\nThree days\tat most.\nZürich too.\nWeight\tPrice in CHF\n1 kg\t7.00", "1", false},
		{"Excel", "a.bin", "", workbook(t), nil, "xlsx", "", "# Prices\nWeight\t\tPrice\n1.5\tTRUE\t3\n\n# Notes\nOnly here", "2", false},
		{"one sheet", "a.xlsx", "", workbook(t), map[string]any{"pages": "2"}, "xlsx", "", "# Notes\nOnly here", "2", false},
		{"PowerPoint", "a.pptx", "", slides(t), nil, "pptx", "", "First\nbelow\n\nLast\nbelow", "2", false},
		{"the first slides", "a.pptx", "", slides(t), map[string]any{"max_pages": number("1")}, "pptx", "", "First\nbelow", "2", true},
		{"OpenDocument", "a.odt", "", openText(t), nil, "odt", "Open", "Head\nOne two\tthree\na\tb", "1", false},
		{"HTML", "a.html", "text/html", "<title>T &amp; t</title><script>x()</script><h1>Häd</h1><p>See <a href='b'>this</a>.", nil, "html", "T & t", "# Häd\n\nSee [this](b).", "1", false},
		{"HTML in an older encoding", "a", "text/html", "<meta charset=iso-8859-1><p>Z\xfcrich", nil, "html", "", "Zürich", "1", false},
		{"HTML that says it is text", "a.txt", "text/plain", "<p>as it is</p>", nil, "text", "", "<p>as it is</p>", "1", false},
		{"Markdown", "a.md", "", "---\ntitle: x\n---\n# A\n", nil, "markdown", "", "---\ntitle: x\n---\n# A\n", "1", false},
		{"CSV", "a.csv", "", "\xef\xbb\xbfa;b\nZ\xc3\xbcrich;2\n", nil, "csv", "", "a;b\nZürich;2\n", "1", false},
		{"CSV in Windows-1252", "a.csv", "", "a;b\nZ\xfcrich;\x80 2\n", nil, "csv", "", "a;b\nZürich;€ 2\n", "1", false},
		{"text in UTF-16", "a.txt", "", "\xff\xfeZ\x00\xfc\x00", nil, "text", "", "Zü", "1", false},
		{"text of a declared charset", "a.txt", "text/plain; charset=koi8-r", "\xf0\xd2\xc9", nil, "text", "", "При", "1", false},
		{"nothing", "a.txt", "", "", nil, "text", "", "", "1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := readKept(t, c.file, c.mime, c.content, c.config)
			same(t, "state", []any{r.State, r.Error}, []any{flow.StepSucceeded, nil})
			same(t, "outputs", r.Outputs, map[string]any{"text": c.text, "title": c.title, "format": c.format, "pages": json.Number(c.pages), "truncated": c.truncated})
		})
	}
	t.Run("cuts a Word file that is too long", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("word ", flow.MaxTextBytes/5+1)
		r := readKept(t, "a.docx", "", zipped(t, "word/document.xml", wordBegin+"<w:p><w:r><w:t>"+long[:flow.MaxTextBytes/2]+"</w:t><w:t>"+long+"</w:t></w:r></w:p></w:body>"), nil)
		if text := flow.Text(r.Outputs["text"]); len(text) != flow.MaxTextBytes || r.Outputs["truncated"] != true {
			t.Errorf("%d bytes, truncated %v, error %v", len(text), r.Outputs["truncated"], r.Error)
		}
	})
	t.Run("cuts a title that is too long", func(t *testing.T) {
		t.Parallel()
		r := readKept(t, "a.html", "", "<!doctype html><title>"+strings.Repeat("é", 1<<20)+"</title><p>text", nil)
		same(t, "title", []any{r.Error, r.Outputs["title"], r.Outputs["text"]}, []any{nil, strings.Repeat("é", maxAbout) + "…", "text"})
	})
	t.Run("cuts a text that is too long", func(t *testing.T) {
		t.Parallel()
		r := readKept(t, "a.txt", "", "x"+strings.Repeat("é", flow.MaxTextBytes/2), nil)
		if text := flow.Text(r.Outputs["text"]); len(text) > flow.MaxTextBytes || !strings.HasSuffix(text, "é") || r.Outputs["truncated"] != true {
			t.Errorf("%d bytes, truncated %v, error %v", len(text), r.Outputs["truncated"], r.Error)
		}
	})
}

func TestDocumentSources(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/go":
			http.Redirect(w, r, "/terms.docx", http.StatusFound)
		case "/terms.docx":
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = io.WriteString(w, wordDocument(t))
		case "/cut":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "no such thing")
		}
	})
	t.Run("fetches a URL", func(t *testing.T) {
		t.Parallel()
		outputs := use{kind: "document", ports: map[string]any{"file": s.URL + "/go"}}.succeeds(t, s.deps)
		has(t, flow.Text(outputs["text"]), "Delivery terms")
	})
	for path, want := range map[string]string{"/missing": "404 Not Found: no such thing", "/cut": "127.0.0.1"} {
		t.Run("fails as "+path, func(t *testing.T) {
			t.Parallel()
			u := use{kind: "document", config: map[string]any{"file": s.URL + path}}
			has(t, u.fails(t, s.deps, flow.CodeHTTPFailed).Message, want)
		})
	}
	t.Run("refuses private addresses", func(t *testing.T) {
		t.Parallel()
		use{kind: "document", ports: map[string]any{"file": "http://10.0.0.1/a.pdf"}}.fails(t, s.deps, flow.CodeDestinationBlocked)
		use{kind: "document", ports: map[string]any{"file": "nowhere"}}.fails(t, s.deps, flow.CodeInputInvalid)
	})
	t.Run("misses a file that is gone", func(t *testing.T) {
		t.Parallel()
		gone := map[string]any{"file": flow.NewIDs().New(flow.PrefixFile), "name": "a.pdf"}
		has(t, use{kind: "document", ports: map[string]any{"file": gone}}.fails(t, s.deps, flow.CodeInputInvalid).Message, "does not exist")
		use{kind: "document", ports: map[string]any{"file": number("3")}}.fails(t, s.deps, flow.CodeInputInvalid)
	})
	t.Run("is checked", func(t *testing.T) {
		t.Parallel()
		for pointer, config := range map[string]map[string]any{
			"/nodes/0/config/pages":     {"pages": "1-x"},
			"/nodes/0/config/max_pages": {"max_pages": number("2001")},
			"/nodes/0/config/file":      {"file": "terms.pdf"},
		} {
			if config["file"] == nil {
				config["file"] = "https://example.com/a.pdf"
			}
			problems := use{kind: "document", config: config}.problems(t)
			if len(problems) != 1 || problems[0].Pointer != pointer {
				t.Errorf("%v: got %v", config, problems)
			}
		}
	})
}

func TestDocumentPDF(t *testing.T) {
	t.Parallel()
	skipShort(t)
	t.Run("of a browser", func(t *testing.T) {
		t.Parallel()
		r := readKept(t, "terms.pdf", "application/pdf", testFile(t, "chromium.pdf"), nil)
		same(t, "facts", []any{r.Error, r.Outputs["pages"], r.Outputs["title"], r.Outputs["format"], r.Outputs["truncated"]},
			[]any{nil, number("3"), "Delivery terms 2026", "pdf", false})
		has(t, flow.Text(r.Outputs["text"]),
			"Zürich sends twice a day; “express” costs 4 € more.\n\nAsk us for efficient offers: affluent, office, waffle, flow —\nthe ligatures.",
			"First point of the list\nSecond point of the list\n\nPrices\n\nWeight\tCountry\tPrice\nup to 1 kg\tSwitzerland\t7.00\nup to 5 kg\tÖsterreich\t19.50\n\nTwo columns",
			"The left column tells how\na parcel is packed.", "two\nsides.\n\nThe right column tells", "Привет, мир. Γειά σου Κόσμε.")
	})
	t.Run("of PostScript", func(t *testing.T) {
		t.Parallel()
		r := readKept(t, "letter", "", testFile(t, "ghostscript.pdf"), nil)
		same(t, "text", r.Outputs["text"], "A letter made by PostScript, with fi and fl.\nWide spaces between these words.\n\nSecond paragraph in Helvetica (bold).\n\nPage two.")
	})
	t.Run("some pages", func(t *testing.T) {
		t.Parallel()
		r := readKept(t, "letter", "", testFile(t, "ghostscript.pdf"), map[string]any{"pages": "2-"})
		same(t, "outputs", []any{r.Outputs["text"], r.Outputs["pages"], r.Outputs["truncated"]}, []any{"Page two.", number("2"), false})
		r = readKept(t, "letter", "", testFile(t, "ghostscript.pdf"), map[string]any{"max_pages": number("1")})
		same(t, "truncated", r.Outputs["truncated"], true)
		r = readKept(t, "letter", "", testFile(t, "ghostscript.pdf"), map[string]any{"pages": "7"})
		has(t, r.Error.Message, "only 2")
	})
	page := minimalPDF
	for _, c := range []struct{ name, file, want string }{
		{"written by hand", page("BT /F 12 Tf 72 700 Td (Hello \\(world\\) \\344) Tj 0 -14 Td <5477> Tj ET"), "Hello (world) ä\nTw"},
		{"with an image inside", page("BT /F 12 Tf 72 700 Td (before) Tj ET BI /W 1 /H 1 ID (((\xff EI BT /F 12 Tf 72 680 Td (after) Tj ET"), "before\nafter"},
		{"with words by kerning", page("BT /F 10 Tf 50 700 Td [(Two) -300 (wor) 20 (ds)] TJ T* (three) ' ET"), "Two words\nthree"},
		{"with bytes around it", "junk\r\n" + page("BT /F 12 Tf 72 700 Td (found) Tj ET") + strings.Repeat("\nrest", 50), "found"},
		{"of a newer version", strings.Replace(page("BT /F 12 Tf 72 700 Td (newer) Tj ET"), "%PDF-1.4", "%PDF-2.0", 1), "newer"},
		{"with a broken table", strings.Replace(page("BT /F 12 Tf 72 700 Td (repaired) Tj ET"), "xref\n0", "xerf\n0", 1), "repaired"},
		{"with a font of the tree", pdfOf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R] /Resources << /Font << /F << /Type /Font /Subtype /Type1 >> >> >> >>", "<< /Kids [4 0 R] /Parent 2 0 R >>",
			"<< /Parent 3 0 R /Contents 5 0 R >>", pdfStream("", "BT /F 12 Tf (inherited) Tj ET")), "inherited"},
		{"cut off", strings.Split(page("BT /F 12 Tf 72 700 Td (cut off) Tj ET"), "xref\n0")[0], "cut off"},
		{"with unknown operators", page("1 2 3 q q Q Q Q [[[ ]]] << /A 1 >> foo BT /F 12 Tf 1 0 0 1 72 700 Tm (kept) Tj /X Do (no font) ET"), "kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := readKept(t, "a.pdf", "", c.file, nil)
			same(t, "text", []any{r.Error, r.Outputs["text"]}, []any{nil, c.want})
		})
	}
}

// minimalPDF is one page with a font.
func minimalPDF(content string) string {
	return pdfOf(
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 4 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		pdfStream("", content))
}

// pdfOf is a file of objects, which are numbered from 1; the first is its root.
func pdfOf(objects ...string) string {
	var b, table strings.Builder
	b.WriteString("%PDF-1.4\n")
	for i, object := range objects {
		fmt.Fprintf(&table, "%010d 00000 n \n", b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n",
		len(objects)+1, table.String(), len(objects)+1, b.Len())
	return b.String()
}

func pdfStream(entries, content string) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(content), content)
}

// packedPDF is a file whose root, object 3, lies inside of a stream of objects,
// object 1.
func packedPDF(entries, content string) string {
	const begin = "%PDF-1.5\n"
	first := "1 0 obj\n" + pdfStream("/Type /ObjStm "+entries, content) + "\nendobj\n"
	at := len(begin) + len(first)
	table := []byte{0, 0, 0, 0, 1, 0, byte(len(begin)), 0, 1, byte(at >> 8), byte(at), 0, 2, 0, 1, 0}
	second := "2 0 obj\n" + pdfStream("/Type /XRef /Size 4 /W [1 2 1] /Root 3 0 R", string(table)) + "\nendobj\n"
	return fmt.Sprintf("%s%s%sstartxref\n%d\n%%%%EOF\n", begin, first, second, at)
}

// withPrev makes the last table of objects of a file its own predecessor.
func withPrev(content, before string) string {
	at := content[strings.LastIndex(content, "startxref\n")+len("startxref\n"):]
	at, _, _ = strings.Cut(at, "\n")
	return strings.Replace(content, before, "/Prev "+at+" "+before, 1)
}

func TestDocumentRefusals(t *testing.T) {
	t.Parallel()
	skipShort(t)
	bomb := zipped(t, "word/document.xml", wordBegin+strings.Repeat(" ", maxOfficeBytes+1))
	for _, c := range []struct{ name, content, want string }{
		{"an older Office", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 600), "older Office"},
		{"a picture", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "Sluice reads PDF, Word (DOCX)"},
		{"another ZIP", zipped(t, "a.txt", "a"), "Sluice reads PDF"},
		{"a PDF without text", minimalPDF("0 0 m 100 100 l S"), "may be scanned"},
		{"a PDF without objects", "%PDF-1.4\n%%EOF", "damaged"},
		{"half a PDF", testFile(t, "chromium.pdf")[:300], "damaged"},
		{"half a Word file", wordDocument(t)[:200], "Sluice reads PDF"},
		{"a ZIP bomb", bomb, "128 MiB"},
		{"XML without an end", zipped(t, "word/document.xml", wordBegin+strings.Repeat("<w:a>", 2*maxXMLDepth)), "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := readKept(t, "a.bin", "", c.content, nil)
			if r.Error == nil || r.Error.Code != flow.CodeInputInvalid {
				t.Fatalf("got %v, %v", r.Error, r.Outputs)
			}
			has(t, r.Error.Message, c.want)
		})
	}
	t.Run("a file that is too large", func(t *testing.T) {
		t.Parallel()
		r := readKept(t, "a.txt", "", strings.Repeat("x", maxDocument+1), nil)
		has(t, r.Error.Message, "64 MiB")
	})
}

// TestDocumentHostile is about files that lead a reader into endless memory or
// stack: they must end as errors and leave Sluice alone.
func TestDocumentHostile(t *testing.T) {
	t.Parallel()
	skipShort(t)
	xrefStream := func(dict string) string {
		s := "%PDF-1.5\n1 0 obj\n<< /Type /XRef " + dict + " /Length 5 >>\nstream\nxxxxx\nendstream\nendobj\n"
		return s + "startxref\n9\n%%EOF\n"
	}
	itself := "%PDF-1.5\n1 0 obj\n<< /Type /XRef /Size 3 /W [1 1 1] /Index [1 2] /Root 2 0 R /Length 6 >>\nstream\n" +
		"\x02\x02\x00\x02\x02\x00" + "\nendstream\nendobj\nstartxref\n9\n%%EOF\n"
	for name, content := range map[string]string{
		"a table without measure":       xrefStream("/Size 1000000000000 /W [1 1 1] /Root 2 0 R"),
		"a large table":                 xrefStream("/Size 4000000000 /W [1 1 1] /Root 2 0 R"),
		"wide entries":                  xrefStream("/Size 1 /W [1 1 8000000000] /Root 2 0 R"),
		"an object inside itself":       itself,
		"deep arrays":                   strings.Replace(minimalPDF(""), "/Type /Page /Parent", "/A "+strings.Repeat("[", 1<<20)+" /Type /Page /Parent", 1),
		"deep arrays in a stream":       minimalPDF(strings.Repeat("[", 1<<20) + "BT"),
		"a form that draws itself":      strings.Replace(minimalPDF("/X Do"), "/Font <<", "/XObject << /X 5 0 R >> /Font <<", 1),
		"pages that hold themselves":    strings.Replace(minimalPDF(""), "/Kids [3 0 R]", "/Kids [2 0 R 2 0 R 2 0 R]", 1),
		"pages that hold each other":    pdfOf("<< /Pages 2 0 R >>", "<< /Kids [3 0 R 3 0 R] >>", "<< /Kids [2 0 R 2 0 R] >>"),
		"a page that is its own parent": strings.Replace(minimalPDF(""), "/Kids [3 0 R]", "/Kids [3 0 R] /Parent 9 0 R", 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := readKept(t, "a.pdf", "", content, nil)
			if r.Error == nil || r.Error.Code != flow.CodeInputInvalid {
				t.Errorf("got %v, %v", r.Error, r.Outputs)
			}
		})
	}
	t.Run("a reader without an end stops with the step", func(t *testing.T) {
		t.Parallel()
		content := withPrev(minimalPDF(""), "/Root 1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := readInChild(ctx, flow.DefaultWorkspace, reading{MaxPages: 1}, strings.NewReader(content)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestDocumentEndless is about files that lead a reader in a circle: what we
// walk ourselves has an end, and the rest ends when a reader has computed for as
// long as it may.
func TestDocumentEndless(t *testing.T) {
	t.Parallel()
	skipShort(t)
	const tooLong = "takes too long"
	pages := func(tree, page string) string {
		return pdfOf("<< /Type /Catalog /Pages 2 0 R >>", tree, page, pdfStream("", "BT /F 12 Tf (text) Tj ET"))
	}
	font := func(entries string, more ...string) string {
		return pdfOf(append([]string{"<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>",
			"<< /Contents 4 0 R /Resources << /Font << /F << /Type /Font " + entries + " >> >> >> >>",
			pdfStream("", "BT /F 12 Tf (1) Tj ET")}, more...)...)
	}
	for _, c := range []struct{ name, content, want string }{
		{"a page is its own parent", pages("<< /Kids [3 0 R] >>", "<< /Parent 3 0 R /Contents 4 0 R >>"), "text"},
		{"two nodes are each other's parents", pages("<< /Kids [3 0 R] /Parent 3 0 R >>", "<< /Parent 2 0 R /Contents 4 0 R >>"), "text"},
		{"a table is its own predecessor", withPrev(minimalPDF(""), "/Root 1"), tooLong},
		{"a stream is its own predecessor", withPrev(packedPDF("/N 1 /First 4", "9 0 null"), "/Type /XRef"), tooLong},
		{"a stream of objects extends itself", packedPDF("/N 1 /First 4 /Extends 1 0 R", "9 0 null"), tooLong},
		{"a stream says it has many objects", packedPDF("/N 1000000000000000 /First 4", "9 0 null"), tooLong},
		{"a string has no end", packedPDF("/N 1 /First 4", "3 0 <41"), tooLong},
		{"widths repeat", font("/Subtype /Type0 /DescendantFonts [<< /W [" + strings.Repeat("0 90000 500 ", 50_000) + "] >>]"), tooLong},
		{"a map says it has many entries", font("/Subtype /Type1 /ToUnicode 5 0 R", pdfStream("", "1000000000000000 beginbfchar endbfchar")), "The document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			what := reading{MaxPages: 10}
			if c.want == tooLong {
				what.CPU = 1
			}
			got, err := readInChild(t.Context(), flow.DefaultWorkspace, what, strings.NewReader(c.content))
			if e, ok := errors.AsType[*flow.Error](err); ok && e.Code == flow.CodeInputInvalid {
				has(t, e.Message, c.want)
			} else if err != nil || got.Text != c.want {
				t.Errorf("got %v, %.100q", err, got.Text)
			}
		})
	}
}

// TestDocumentBlank is about sheets in which there is much to do for no text.
func TestDocumentBlank(t *testing.T) {
	t.Parallel()
	skipShort(t)
	const relations = `<Relationships><Relationship Id="rId1" Target="one.xml"/></Relationships>`
	book := func(shared, cells string) string {
		return zipped(t, "xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="A" r:id="rId1"/></sheets></workbook>`, "xl/_rels/workbook.xml.rels", relations,
			"xl/sharedStrings.xml", `<sst><si><t>`+shared+`</t></si></sst>`, "xl/one.xml", `<worksheet><row>`+cells+`</row><row><c><v>end</v></c></row></worksheet>`)
	}
	blanks := strings.Repeat(" ", 2<<20)
	for name, content := range map[string]string{
		"shared by many cells":     book(blanks, strings.Repeat(`<c t="s"><v>0</v></c>`, 20_000)),
		"of a cell with many ends": book("", "<c><v>"+blanks+"</v>"+strings.Repeat(`</c>`, 20_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readInChild(t.Context(), flow.DefaultWorkspace, reading{MaxPages: 10, CPU: 2 + slowdown/4}, strings.NewReader(content))
			same(t, "text", []any{err, got.Text, got.Truncated}, []any{nil, "# A\nend", false})
		})
	}
	t.Run("in too many cells", func(t *testing.T) {
		t.Parallel()
		f, err := openOffice([]byte(book("", `<c><v>first</v></c>`+strings.Repeat(`<c/>`, 8))))
		if err != nil {
			t.Fatal(err)
		}
		w := &sheetWriter{left: 5}
		err = f.walk("xl/one.xml", xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full})
		same(t, "sheet", []any{err, w.out.String(), w.full()}, []any{nil, "first", true})
	})
}

// TestDocumentDamaged turns bytes of good files over, always the same ones.
func TestDocumentDamaged(t *testing.T) {
	t.Parallel()
	files := []string{testFile(t, "chromium.pdf"), testFile(t, "ghostscript.pdf"), minimalPDF("BT /F 12 Tf 72 700 Td (text) Tj ET"), wordDocument(t), workbook(t)}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 40 {
		data := []byte(files[i%len(files)])
		for range 1 + random.IntN(30) {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
		if i%7 == 0 {
			data = data[:random.IntN(len(data))]
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err := readInChild(ctx, flow.DefaultWorkspace, reading{MaxPages: 10}, bytes.NewReader(data))
			if e, ok := errors.AsType[*flow.Error](err); err != nil && (!ok || e.Code != flow.CodeInputInvalid) {
				t.Errorf("%v of %s", err, base64.StdEncoding.EncodeToString(data[:min(len(data), 2000)]))
			}
		})
	}
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
