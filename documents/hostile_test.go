package documents

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"sluice/e2e/need"
)

// TestRefusals proves that each file that cannot be read is refused with the reason,
// because people see the message and must know what to do about their file.
func TestRefusals(t *testing.T) {
	t.Parallel()
	need.Time(t)
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
			_, err := readIn(t.Context(), Request{Name: "a.bin"}, c.content)
			has(t, refusal(t, err), c.want)
		})
	}
}

// TestHostile is about files that lead a reader into endless memory or
// stack: they must end as errors and leave Sluice alone.
func TestHostile(t *testing.T) {
	t.Parallel()
	need.Time(t)
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
			got, err := readIn(t.Context(), Request{Images: true}, content)
			if _, ok := errors.AsType[*Error](err); err != nil && !ok || err == nil && strings.TrimSpace(got.Text) != "" {
				t.Errorf("got %v, %v", err, got)
			}
		})
	}
	t.Run("a reader that computes for long stops with the step", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := readIn(ctx, Request{WebPage: true, MIME: "text/html"}, strings.Repeat("<p>text</p>", 2_000_000)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestEndless is about files that lead a reader in a circle or say that they are
// endless: reading ends soon, or when it has computed for as long as it may.
func TestEndless(t *testing.T) {
	t.Parallel()
	need.Time(t)
	pages := func(tree, page string) string {
		return pdfOf("<< /Type /Catalog /Pages 2 0 R >>", tree, page, pdfStream("", "BT /F 12 Tf (text) Tj ET"))
	}
	font := func(entries string, more ...string) string {
		return pdfOf(append([]string{"<< /Pages 2 0 R >>", "<< /Kids [3 0 R] >>",
			"<< /Contents 4 0 R /Resources << /Font << /F << /Type /Font " + entries + " >> >> >> >>",
			pdfStream("", "BT /F 12 Tf (1) Tj ET")}, more...)...)
	}
	for name, content := range map[string]string{
		"a page is its own parent":                   pages("<< /Kids [3 0 R] >>", "<< /Parent 3 0 R /Contents 4 0 R >>"),
		"two nodes are each other's parents":         pages("<< /Kids [3 0 R] /Parent 3 0 R >>", "<< /Parent 2 0 R /Contents 4 0 R >>"),
		"a table is its own predecessor":             withPrev(minimalPDF(""), "/Root 1"),
		"a stream is its own predecessor":            withPrev(packedPDF("/N 1 /First 4", "9 0 null"), "/Type /XRef"),
		"a stream of objects extends itself":         packedPDF("/N 1 /First 4 /Extends 1 0 R", "9 0 null"),
		"a stream says it has many objects":          packedPDF("/N 1000000000000000 /First 4", "9 0 null"),
		"a string has no end":                        packedPDF("/N 1 /First 4", "3 0 <41"),
		"widths repeat":                              font("/Subtype /Type0 /DescendantFonts [<< /W [" + strings.Repeat("0 90000 500 ", 50_000) + "] >>]"),
		"a map says it has many entries":             font("/Subtype /Type1 /ToUnicode 5 0 R", pdfStream("", "1000000000000000 beginbfchar endbfchar")),
		"a page is larger than any screen":           strings.Replace(minimalPDF("BT /F 12 Tf (1) Tj ET"), "/Type /Page ", "/Type /Page /MediaBox [0 0 1e30 1e-30] ", 1),
		"an image says it is larger than the memory": minimalPDF("BI /W 100000 /H 100000 /CS /RGB /BPC 16 ID x EI BT /F 12 Tf (1) Tj ET"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := readIn(t.Context(), Request{CPU: 5, Images: true}, content)
			if e, ok := errors.AsType[*Error](err); err != nil && (!ok || strings.Contains(e.Message, "too long")) {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("forms draw each other", func(t *testing.T) {
		t.Parallel()
		_, err := readIn(t.Context(), Request{CPU: 1}, manyForms(12))
		if got := refusal(t, err); !strings.Contains(got, "takes too long") && !strings.Contains(got, "more memory") { // whichever limit comes first
			t.Errorf("got %q", got)
		}
	})
}

// manyForms is a page with 10 to the power of depth texts: each form draws the
// next one ten times.
func manyForms(depth int) string {
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /XObject << /X 6 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", pdfStream("", "/X Do")}
	for range depth {
		objects = append(objects, pdfStream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /XObject << /X %d 0 R >> >>", len(objects)+2), strings.Repeat("/X Do ", 10)))
	}
	return pdfOf(append(objects, pdfStream("/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F 4 0 R >> >>", "BT /F 12 Tf (text) Tj ET"))...)
}

// TestLarge reads a PDF of nearly the maximum size, which proves that the content
// and its copy in the engine fit into the memory of a child.
func TestLarge(t *testing.T) {
	t.Parallel()
	need.Time(t)
	content := strings.Replace(minimalPDF("BT /F 12 Tf 72 700 Td (text) Tj ET"), "xref\n", "9 0 obj\n"+pdfStream("", strings.Repeat("x", MaxSize-2000))+"\nendobj\nxref\n", 1)
	got, err := readIn(t.Context(), Request{Images: true}, content)
	if err != nil || got.Text != "text" {
		t.Errorf("got %v, %+v", err, got)
	}
}

// rawWorkbook is a workbook of one sheet, as XML.
func rawWorkbook(t *testing.T, shared, sheet string) string {
	t.Helper()
	const (
		ns    = ` xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
		types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	)
	return zipped(t, "[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
		"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="`+types+`officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml", `<workbook`+ns+`><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="`+types+`worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="`+types+`sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
		"xl/sharedStrings.xml", `<sst`+ns+`>`+shared+`</sst>`,
		"xl/worksheets/sheet1.xml", `<worksheet`+ns+`><sheetData>`+sheet+`</sheetData></worksheet>`)
}

// TestBlank is about sheets in which there is much to do for no text: they end
// as a text or an error, within the computing that they are given.
func TestBlank(t *testing.T) {
	t.Parallel()
	need.Time(t)
	blanks := strings.Repeat(" ", 2<<20)
	row := func(cells string) string { return "<row>" + cells + "</row><row><c><v>1</v></c></row>" }
	for name, content := range map[string]string{
		"shared by many cells":    rawWorkbook(t, "<si><t>"+blanks+"</t></si>", row(strings.Repeat(`<c t="s"><v>0</v></c>`, 16_000))),
		"in rows far apart":       rawWorkbook(t, "", strings.Repeat(`<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`, 1000)),
		"in wide rows":            rawWorkbook(t, "", strings.Repeat(`<row><c r="XFD1"><v>1</v></c></row>`, 20_000)),
		"in rows without a place": rawWorkbook(t, "", strings.Repeat(`<row/>`, 2_000_000)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{CPU: 4}, content)
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				t.Errorf("got %v", err)
			}
			if err == nil && !strings.HasPrefix(got.Text, "# A") {
				t.Errorf("got %.100q", got.Text)
			}
		})
	}
}

// TestDamaged turns bytes of good files over, always the same ones. It is a small
// fuzz test with a fixed seed: whatever the bytes, reading ends with a document or an
// error for people, never with an internal one, and within 20 seconds.
func TestDamaged(t *testing.T) {
	t.Parallel()
	need.Time(t)
	files := []string{testFile(t, "chromium.pdf"), testFile(t, "ghostscript.pdf"), minimalPDF("BT /F 12 Tf 72 700 Td (text) Tj ET"), wordDocument(t), workbook(t, nil)}
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
			_, err := readIn(ctx, Request{MaxPages: 10, Images: i%2 == 0}, string(data))
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				t.Errorf("%v of %s", err, base64.StdEncoding.EncodeToString(data[:min(len(data), 2000)]))
			}
		})
	}
}
