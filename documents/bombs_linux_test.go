package documents

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
)

// bombs returns small files that are made to take much time or memory, by name.
func bombs(t *testing.T) map[string]string {
	const mib = 1 << 20
	openText := func(body string) string {
		return zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", `<office:document-content><office:body><office:text>`+body+`</office:text></office:body></office:document-content>`)
	}
	laughs := func(root string) string {
		b := `<?xml version="1.0"?><!DOCTYPE ` + root + ` [<!ENTITY a0 "laugh">`
		for i := range 12 {
			b += fmt.Sprintf(`<!ENTITY a%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 10))
		}
		return b + "]>"
	}
	deflated := func(s string) string {
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, flate.BestCompression)
		_, _ = w.Write([]byte(s))
		_ = w.Close()
		return "\x78\xda" + b.String() + "\x00\x00\x00\x00"
	}
	inner := word(t, runs(wt("x")), "")
	for range 6 { // documents within documents
		inner = word(t, `<w:altChunk r:id="a"/><w:altChunk r:id="a"/><w:altChunk r:id="a"/>`, "a aFChunk c.docx", "word/c.docx", inner)
	}
	mixed := "Content-Type: text/plain\r\n\r\nx"
	for i := range 300 {
		mixed = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n%s\r\n--b%d--\r\n", i, i, mixed, i)
	}
	note := func(n int) string {
		return word(t, strings.Repeat(runs(`<w:footnoteReference w:id="2"/>`), n), "n footnotes footnotes.xml",
			"word/footnotes.xml", `<w:footnotes xmlns:w="w"><w:footnote w:id="2">`+runs(wt(strings.Repeat("x", mib)))+`</w:footnote></w:footnotes>`)
	}
	many := make([]string, 0, 200_000)
	for i := range 100_000 {
		many = append(many, fmt.Sprint(i), "")
	}
	var strs, relations, slideIDs strings.Builder
	for i := range 400_000 {
		fmt.Fprintf(&strs, "<si><t>%d</t></si>", i)
	}
	for i := range 50_000 {
		fmt.Fprintf(&relations, `<Relationship Id="r%d" Target="slides/slide1.xml"/>`, i)
		fmt.Fprintf(&slideIDs, `<p:sldId r:id="r%d"/>`, i)
	}
	pages := func(n int) string {
		return strings.Replace(minimalPDF("BT /F 12 Tf (text) Tj ET"), "/Kids [3 0 R]", "/Kids ["+strings.Repeat("3 0 R ", n)+"]", 1)
	}
	return map[string]string{
		"CSV of 1,000,000 columns":               "a" + strings.Repeat(",a", 1_000_000) + "\n1,2\n",
		"CSV of 1,000,000 columns and rows":      strings.Repeat(",", 1_000_000) + strings.Repeat("\n1,2", 1_000_000),
		"CSV of many short rows":                 "a,b\n" + strings.Repeat("1\n", 4_000_000),
		"CSV of a long column name":              strings.Repeat("a", 8*mib) + ",b\n1,2\n",
		"CSV of brackets":                        "a,b\n" + strings.Repeat("<<<<<<<<<<,&&&&&&&&&\n", 200_000),
		"CSV of escapes":                         "a,b\n" + strings.Repeat("x\\\\\\\u2028\"\\,y\n", 400_000),
		"CSV of many names":                      strings.Repeat("a,", 16_000) + "\n" + strings.Repeat(strings.Repeat("1,", 16_000)+"\n", 100),
		"CSV with an open quote":                 "a,b\n\"" + strings.Repeat("1,2\n", 4_000_000),
		"CSV with many quotes":                   "a,b\n" + strings.Repeat(`""`, 8_000_000),
		"XLSX with laughs":                       zipped(t, "[Content_Types].xml", "<Types/>", "xl/workbook.xml", laughs("workbook")+"<workbook>&a12;</workbook>"),
		"XLSX with a row of 1,000,000 cells":     rawWorkbook(t, "", "<row>"+strings.Repeat("<c><v>1</v></c>", 1_000_000)+"</row>"),
		"XLSX with 400,000 shared texts":         rawWorkbook(t, strs.String(), `<row><c t="s"><v>399999</v></c></row>`),
		"XLSX with a shared text used often":     rawWorkbook(t, "<si><t>"+strings.Repeat("x", 32_000)+"</t></si>", strings.Repeat(`<row><c t="s"><v>0</v></c></row>`, 500_000)),
		"XLSX with merged cells":                 rawWorkbook(t, "", `<row r="1"><c r="A1"><v>1</v></c></row></sheetData><mergeCells>`+strings.Repeat(`<mergeCell ref="A1:XFD1048576"/>`, 20_000)+`</mergeCells><sheetData>`),
		"XLSX of deep XML":                       rawWorkbook(t, "", strings.Repeat("<row>", 1_000_000)),
		"XLSX of much XML":                       rawWorkbook(t, "", strings.Repeat(" ", maxOfficeBytes-2000)),
		"DOCX with laughs":                       zipped(t, "word/document.xml", laughs("w:document")+wordBegin+"<w:p><w:r><w:t>&a12;</w:t></w:r></w:p>"),
		"DOCX of much XML":                       zipped(t, "word/document.xml", wordBegin+strings.Repeat("<w:p/>", (maxOfficeBytes-2000)/6)),
		"DOCX with documents in documents":       inner,
		"DOCX with a note used often":            note(100_000),
		"DOCX with wide cells":                   word(t, strings.Repeat(`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="1000000000"/><w:vMerge/></w:tcPr>`+runs(wt("x"))+`</w:tc></w:tr></w:tbl>`, 1000), ""),
		"DOCX with nested tables":                word(t, strings.Repeat(`<w:tbl><w:tr><w:tc>`, 300)+runs(wt("x"))+strings.Repeat(`</w:tc></w:tr></w:tbl>`, 300), ""),
		"DOCX with nested fields":                word(t, "<w:p>"+strings.Repeat(`<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "x"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>`, 200_000)+"</w:p>", ""),
		"DOCX with nested equations":             word(t, "<w:p><m:oMath>"+strings.Repeat(`<m:sSup><m:e>`, 100)+`<m:r><m:t>x</m:t></m:r>`+strings.Repeat(`</m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>`, 100)+"</m:oMath></w:p>", ""),
		"PPTX of 50,000 slides":                  zipped(t, "ppt/presentation.xml", `<p:presentation xmlns:r="r"><p:sldIdLst>`+slideIDs.String()+`</p:sldIdLst></p:presentation>`, "ppt/_rels/presentation.xml.rels", `<Relationships>`+relations.String()+`</Relationships>`, "ppt/slides/slide1.xml", `<p:sld xmlns:a="a"><a:p><a:r><a:t>`+strings.Repeat("x", mib)+`</a:t></a:r></a:p></p:sld>`),
		"ODT with many spaces":                   openText(strings.Repeat(`<text:p>x<text:s text:c="2000000000"/></text:p>`, 1000)),
		"ODT with repeated rows":                 openText(`<table:table><table:table-row table:number-rows-repeated="2000000000"><table:table-cell table:number-columns-repeated="2000000000"><text:p>x</text:p></table:table-cell></table:table-row></table:table>`),
		"ODT with laughs":                        zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", laughs("office:document-content")+`<office:document-content><office:body><office:text><text:p>&a12;</text:p></office:text></office:body></office:document-content>`),
		"ZIP of 100,000 files":                   zipped(t, many...),
		"ZIP in a ZIP":                           zipped(t, "word/document.xml", zipped(t, "word/document.xml", wordBegin)),
		"XML with laughs":                        laughs("x") + "<x>&a12;</x>",
		"XML of deep elements":                   "<?xml version=\"1.0\"?>" + strings.Repeat("<a>", 2_000_000),
		"HTML with wide cells":                   "<!DOCTYPE html><html><body><table>" + strings.Repeat(`<tr><td colspan="1000000000" rowspan="1000000000">text</td></tr>`, 20_000),
		"HTML with many attributes":              "<!DOCTYPE html><html><body><p " + strings.Repeat("a=b ", 1_000_000) + ">text",
		"HTML with half tags":                    "<!DOCTYPE html><html><body>text" + strings.Repeat("<a", 2_000_000),
		"HTML with open formatting":              "<!DOCTYPE html><html><body>" + strings.Repeat("<p><b><i><font color=a>text", 100_000),
		"HTML with many entities":                "<!DOCTYPE html><html><body>" + strings.Repeat("&notit;&CounterClockwiseContourIntegral;", 200_000),
		"HTML with nested lists":                 "<!DOCTYPE html><html><body>" + strings.Repeat("<ul><li>text</li>", 250) + strings.Repeat("</ul>", 250),
		"HTML with select elements":              "<!DOCTYPE html><html><body>text" + strings.Repeat("<select><table>", 200_000),
		"RTF of deep groups":                     `{\rtf1 x` + strings.Repeat("{", 8_000_000),
		"RTF with long binary data":              `{\rtf1 x{\*\y\bin2147483647 ` + strings.Repeat("y", mib),
		"RTF with much to skip":                  `{\rtf1 x\uc1000000000` + strings.Repeat(`\u100?`, 1_000_000),
		"RTF with many cells":                    `{\rtf1\trowd` + strings.Repeat(`\cellx1`, 1_000_000) + strings.Repeat(`\cell`, 1_000_000) + `\row x}`,
		"RTF with many fonts":                    `{\rtf1{\fonttbl` + strings.Repeat(`{\f1\fcharset2 a;}`, 500_000) + `}x}`,
		"RTF with open fields":                   `{\rtf1 x` + strings.Repeat(`{\field{\*\fldinst HYPERLINK "x"}{\fldrslt `, 200_000),
		"EML of nested parts":                    "From: a@example.com\r\nSubject: x\r\n" + mixed,
		"EML of 1,000,000 fields":                "From: a@example.com\r\n" + strings.Repeat("X-A: b\r\n", 1_000_000) + "\r\nx",
		"EML of a long field":                    "From: a@example.com\r\nSubject: x" + strings.Repeat("\r\n =?utf-8?q?x?=", 500_000) + "\r\n\r\nx",
		"EML of many parts":                      "From: a@example.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n" + strings.Repeat("--b\r\n\r\nx\r\n", 500_000),
		"EML of nested messages":                 strings.Repeat("From: a@example.com\r\nContent-Type: message/rfc822\r\n\r\n", 100_000) + "x",
		"EML with much base64":                   "From: a@example.com\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("<b><i>x", mib))),
		"PDF of 1,000,000 pages":                 pages(1_000_000),
		"PDF with a packed stream":               pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 4 0 R >> >> >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", pdfStream("/Filter /FlateDecode", deflated(strings.Repeat("BT /F 12 Tf (text) Tj ET ", 2*mib)))),
		"PDF with a stream packed twice":         pdfOf("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>", "<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F 4 0 R >> >> >>", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", pdfStream("/Filter [/FlateDecode /FlateDecode]", deflated(deflated(strings.Repeat(" ", 128*mib))))),
		"PDF with objects that refer in circles": pdfOf("<< /Type /Catalog /Pages 2 0 R /AcroForm 5 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 6 0 R >>", "<< /Type /Page /Parent 2 0 R /Contents [6 0 R 6 0 R] /Annots 6 0 R /Resources 3 0 R >>", "[4 0 R]", "<< /Fields [5 0 R 5 0 R] /Kids [5 0 R] /Parent 5 0 R /T (a) >>", "6 0 R"),
		"PDF with many notes":                    strings.Replace(minimalPDF("BT /F 12 Tf (text) Tj ET"), "/Type /Page ", "/Type /Page /Annots ["+strings.Repeat("<< /Type /Annot /Subtype /Text /Rect [0 0 1 1] /Contents (a) >> ", 100_000)+"] ", 1),
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestBombs_end_in_their_child checks that each file ends as a text or a refusal, with the limits of the child, and
// that the server itself does little for them: less than a second of CPU time for each MiB. It is not parallel,
// because others would use time of the process.
func TestBombs_end_in_their_child(t *testing.T) {
	need.Time(t)
	need.Slow(t)
	files := bombs(t)
	size, before := 0, cpuTime()
	var reading sync.WaitGroup
	for name, content := range files {
		size += len(content)
		kind, _, _ := strings.Cut(name, " ")
		reading.Go(func() {
			_, err := readIn(t.Context(), Request{Name: "a." + strings.ToLower(kind), CPU: 1}, content)
			if _, refused := errors.AsType[*Error](err); err != nil && !refused {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	reading.Wait()
	if used := cpuTime() - before; used > time.Duration(size>>20)*time.Second {
		t.Errorf("%d MiB took %s of CPU time in this process", size>>20, used)
	}
	for _, name := range []string{"DOCX of much XML", "PDF with many notes"} { // which take many seconds
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if _, err := readIn(ctx, Request{}, files[name]); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s did not stop with its step: %v", name, err)
		}
		cancel()
	}
}
