package documents

import (
	"strings"
	"testing"
)

// FuzzFormats reads damaged files in this process: a panic would end the child of one document, which is an error
// without a reason.
func FuzzFormats(f *testing.F) {
	f.Add("a.rtf", `{\rtf1\ansi{\fonttbl{\f3\fcharset2 Symbol;}}\trowd a\cell b\row{\footnote x\par}{\field{\*\fldinst HYPERLINK "u"}{\fldrslt t}}\u8364?\'e4\bin3 abc}`)
	f.Add("a.eml", "From: a\r\nSubject: =?utf-8?q?x?=\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\nPHA+\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: y\r\n\r\nz\r\n--b--\r\n")
	f.Add("a.csv", "sep=;\ra;b\r1;\"2\r")
	f.Add("a.html", `<meta http-equiv=refresh content="0;url='x'"><div id=root></div><script>x</script><iframe src=y>`)
	f.Add("a.txt", "\xd0\xd5\xc3\xfb,\xb2\xbf\xc3\xc5")
	f.Fuzz(func(t *testing.T, name, content string) {
		if strings.HasSuffix(name, ".pdf") || len(content) > 1<<16 {
			return
		}
		r := &reading{Request: Request{Name: name, URL: "https://example.com/"}, data: []byte(content)}
		if r.format() == "pdf" {
			return
		}
		_, _ = r.read() // it refuses most inputs
		r.WebPage = true
		_, _ = r.read()
	})
}

// FuzzWord reads damaged XML of the main part of a document and of its lists.
func FuzzWord(f *testing.F) {
	f.Add(`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr><w:rPr><w:del/></w:rPr></w:pPr><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t><w:sym w:font="Symbol" w:char="F061"/></w:r></w:p>`, `<w:num w:numId="1"><w:abstractNumId w:val="1"/><w:lvlOverride w:ilvl="1"><w:startOverride w:val="3"/></w:lvlOverride></w:num><w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="1"><w:numFmt w:val="hebrew1"/><w:lvlText w:val="%1.%2"/></w:lvl></w:abstractNum>`)
	f.Add(`<m:oMath><m:f><m:num><m:r><m:t>1</m:t></m:r></m:num></m:oMath></m:f><m:rad><m:e></w:p></m:rad><m:m><m:mr><m:e/></m:mr></m:m>`, "")
	f.Add(`<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="9"/></w:tcPr></w:p></w:tc></w:tr><w:fldChar w:fldCharType="begin"/><w:instrText>EQ \f(1,\r(2,3)) \s\up(x)</w:instrText><w:fldChar w:fldCharType="end"/><w:ruby><w:rt></w:ruby></w:rt><w:sdt></w:sdtContent></w:sdt><w:hyperlink></w:hyperlink></w:hyperlink>`, "")
	f.Add(`<w:ffData><w:checkBox></w:ffData><w:txbxContent><w:p></w:txbxContent></w:r><w:altChunk r:id="x"/>`, "")
	f.Fuzz(func(t *testing.T, body, lists string) {
		file, err := openOffice([]byte(zipped(t, "word/document.xml", body, "word/numbering.xml", lists)))
		if err != nil {
			t.Fatal(err)
		}
		_ = file.wordText(&Document{}) // most inputs are damaged
		slide := newSlideWriter(nil)
		_ = file.walk("word/document.xml", slide.visitor())
		slide.finish()
	})
}
