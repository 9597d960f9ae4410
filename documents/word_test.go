package documents

import (
	"strings"
	"testing"

	"sluice/e2e/need"
)

// word is a Word document with a body and further parts, in pairs of name and content. Relationships are written as
// "ID kind target", separated by line ends; a target with a scheme is external.
func word(t *testing.T, body, relationships string, parts ...string) string {
	t.Helper()
	var rels strings.Builder
	for line := range strings.Lines(relationships) {
		f := strings.Fields(line)
		mode := ""
		if strings.Contains(f[2], ":") {
			mode = ` TargetMode="External"`
		}
		rels.WriteString(`<Relationship Id="` + f[0] + `" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/` + f[1] + `" Target="` + f[2] + `"` + mode + `/>`)
	}
	return zipped(t, append([]string{
		"[Content_Types].xml", `<Types><Default Extension="dat" ContentType="text/html"/></Types>`,
		"_rels/.rels", `<Relationships><Relationship Id="r" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document2.xml"/></Relationships>`,
		"word/_rels/document2.xml.rels", `<Relationships>` + rels.String() + `</Relationships>`,
		"word/document2.xml", `<w:document xmlns:w="w" xmlns:r="r" xmlns:m="m" xmlns:w14="w14" xmlns:v="v"><w:body>` + body + `</w:body></w:document>`,
	}, parts...)...)
}

// runs is a paragraph of runs.
func runs(content string) string { return "<w:p><w:r>" + content + "</w:r></w:p>" }

func wt(text string) string { return `<w:t xml:space="preserve">` + text + `</w:t>` }

// fieldXML is a complex field.
func fieldXML(data, code, result string) string {
	return `<w:r><w:fldChar w:fldCharType="begin">` + data + `</w:fldChar></w:r><w:r><w:instrText>` + code + `</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` + result + `<w:r><w:fldChar w:fldCharType="end"/></w:r>`
}

// TestWord_reads_every_character compares the text of a document with what Word shows, character by character.
func TestWord_reads_every_character(t *testing.T) {
	t.Parallel()
	need.Time(t)
	math := func(s string) string { return "<w:p><m:oMath>" + s + "</m:oMath></w:p>" }
	mt := func(s string) string { return "<m:r><m:t>" + s + "</m:t></m:r>" }
	e := func(s string) string { return "<m:e>" + s + "</m:e>" }
	vertical := func(kind, text string) string {
		return `<w:r><w:rPr><w:vertAlign w:val="` + kind + `"/></w:rPr>` + wt(text) + `</w:r>`
	}
	for _, c := range []struct {
		name, body, rels, want string
		parts                  []string
	}{
		{name: "hyphens", body: runs(wt("1") + "<w:noBreakHyphen/>" + wt("24 hours, co") + "<w:softHyphen/>" + wt("operate")), want: "1\u201124 hours, co\u00ADoperate"},
		{name: "spaces", body: runs(wt("10\u00A0kg") + "<w:tab/>" + wt("a") + `<w:ptab w:alignment="right"/>` + wt("b") + "<w:cr/>" + wt("c")), want: "10\u00A0kg\ta\tb\nc"},
		{name: "no-break spaces in tables", body: "<w:tbl><w:tr><w:tc>" + runs(wt("10\u00A0 kg  net")) + "</w:tc></w:tr></w:tbl>", want: "10\u00A0 kg net"},
		{name: "symbols", body: runs(`<w:sym w:font="Symbol" w:char="F0B3"/><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:font="Wingdings" w:char="00E0"/><w:sym w:font="Wingdings 2" w:char="F052"/><w:sym w:font="Arial" w:char="00B5"/>`), want: "≥✓→☑µ"},
		{name: "emojis", body: `<w:p><w:r><mc:AlternateContent><mc:Choice Requires="w16se"><w16se:symEx w16se:font="Segoe UI Emoji" w16se:char="1F60A"/></mc:Choice><mc:Fallback><w:t>😊</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>`, want: "😊"},
		{name: "embedded web archive", rels: "c aFChunk chunk.mht", body: `<w:altChunk r:id="c"/>`, parts: []string{"word/chunk.mht", "MIME-Version: 1.0\r\nSubject: x\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n<p>=C3=BCber</p>\r\n--b--\r\n"}, want: "über"},
		{name: "embedded RTF", rels: "c aFChunk chunk.rtf", body: `<w:altChunk r:id="c"/>`, parts: []string{"word/chunk.rtf", `{\rtf1 from RTF\par}`}, want: "from RTF"},
		{name: "text in a symbol font", body: `<w:p><w:r><w:rPr><w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/></w:rPr>` + wt("a\uF062") + `</w:r><w:r>` + wt("a") + `</w:r></w:p>`, want: "αβa"},
		{name: "fraction", body: math("<m:f><m:num>" + mt("x+1") + "</m:num><m:den>" + mt("2") + "</m:den></m:f>"), want: "(x+1)/2"},
		{name: "fraction without ambiguity", body: math(mt("a=") + "<m:f><m:fPr><m:ctrlPr><w:rPr/></m:ctrlPr></m:fPr><m:num>" + mt("1") + "</m:num><m:den>" + mt("2n") + "</m:den></m:f>"), want: "a=1/2n"},
		{name: "exponents", body: math("<m:sSup>" + e(mt("10")) + "<m:sup>" + mt("-3") + "</m:sup></m:sSup><m:sSubSup>" + e(mt("x")) + "<m:sub>" + mt("i") + "</m:sub><m:sup>" + mt("2") + "</m:sup></m:sSubSup>"), want: "10^(-3)x_i^2"},
		{name: "roots", body: math("<m:rad><m:radPr><m:degHide m:val=\"1\"/></m:radPr><m:deg/>" + e(mt("a+b")) + "</m:rad>" + mt("; ") + "<m:rad><m:deg>" + mt("3") + "</m:deg>" + e(mt("8")) + "</m:rad>"), want: "√(a+b); ∛8"},
		{name: "sums", body: math(`<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>` + mt("i=1") + "</m:sub><m:sup>" + mt("n") + "</m:sup>" + e("<m:d><m:dPr><m:begChr m:val=\"[\"/><m:endChr m:val=\"]\"/></m:dPr>"+e(mt("i"))+"</m:d>") + "</m:nary>"), want: "∑_(i=1)^n [i]"},
		{name: "matrices", body: math("<m:d>" + e("<m:m><m:mr>"+e(mt("1"))+e(mt("2"))+"</m:mr><m:mr>"+e(mt("3"))+e(mt("4"))+"</m:mr></m:m>") + "</m:d>"), want: "((1, 2; 3, 4))"},
		{name: "raised and lowered digits", body: "<w:p><w:r>" + wt("10") + "</w:r>" + vertical("superscript", "-6") + "<w:r>" + wt(" CO") + "</w:r>" + vertical("subscript", "2") + "<w:r>" + wt(" 1") + "</w:r>" + vertical("superscript", "st") + "</w:p>", want: "10⁻⁶ CO₂ 1st"},
		{name: "raised digits of a style", rels: "s styles styles.xml", body: `<w:p><w:r>` + wt("m") + `</w:r><w:r><w:rPr><w:rStyle w:val="Up"/></w:rPr>` + wt("2") + `</w:r></w:p>`, parts: []string{"word/styles.xml", `<w:styles xmlns:w="w"><w:style w:type="character" w:styleId="Up"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style></w:styles>`}, want: "m²"},
		{name: "check boxes", body: "<w:p>" + fieldXML(`<w:ffData><w:checkBox><w:default w:val="0"/><w:checked/></w:checkBox></w:ffData>`, " FORMCHECKBOX ", "") + fieldXML(`<w:ffData><w:checkBox><w:default w:val="1"/></w:checkBox></w:ffData>`, " FORMCHECKBOX ", "") + fieldXML(`<w:ffData><w:checkBox><w:default w:val="1"/><w:checked w:val="0"/></w:checkBox></w:ffData>`, " FORMCHECKBOX ", "") + "</w:p>", want: "☒☒☐"},
		{name: "drop-down fields", body: "<w:p>" + fieldXML(`<w:ffData><w:ddList><w:result w:val="1"/><w:listEntry w:val="red"/><w:listEntry w:val="blue"/></w:ddList></w:ffData>`, "FORMDROPDOWN", "<w:r>"+wt("blue")+"</w:r>") + "<w:r>" + wt(", ") + "</w:r>" + fieldXML(`<w:ffData><w:ddList><w:listEntry w:val="first"/></w:ddList></w:ffData>`, "FORMDROPDOWN", "") + "</w:p>", want: "blue, first"},
		{name: "a check box around a paragraph", body: `<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent><w:p><w:r><w:t>☒</w:t></w:r></w:p><w:p><w:r><w:t>yes</w:t></w:r></w:p></w:sdtContent></w:sdt><w:p><w:r><w:t>next</w:t></w:r></w:p>`, want: "☒\nyes\nnext"},
		{name: "content controls", body: `<w:p><w:sdt><w:sdtPr><w:dropDownList><w:listItem w:displayText="Blue" w:value="b"/></w:dropDownList></w:sdtPr><w:sdtContent><w:r>` + wt("Blue ") + `</w:r></w:sdtContent></w:sdt><w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="1"/></w14:checkbox></w:sdtPr><w:sdtContent></w:sdtContent></w:sdt></w:p>`, want: "Blue ☒"},
		{name: "results of fields, not codes", body: "<w:p>" + fieldXML("", "IF ", "<w:r>"+wt("yes")+"</w:r>") + fieldXML("", "PAGE", "<w:r>"+wt(" 3")+"</w:r>") + `<w:fldSimple w:instr="DATE"><w:r>` + wt(" today") + `</w:r></w:fldSimple></w:p>`, want: "yes 3 today"},
		{name: "a field within the code of another", body: `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r>` + fieldXML("", "MERGEFIELD x", "<w:r>"+wt("hidden")+"</w:r>") + `<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r>` + wt("shown") + `</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, want: "shown"},
		{name: "a code that continues after the field within it", body: `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r>` + fieldXML("", "PAGE", "<w:r>"+wt("1")+"</w:r>") + `<w:r><w:instrText> = 1 "a" "b"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r>` + wt("a") + `</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, want: "a"},
		{name: "a target that a field computes", body: `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "</w:instrText></w:r>` + fieldXML("", "MERGEFIELD url", "<w:r>"+wt("https://example.com/a")+"</w:r>") + `<w:r><w:instrText>/b"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r>` + wt("offer") + `</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, want: "offer (https://example.com/a/b)"},
		{name: "fields three levels deep", body: `<w:p>` + fieldXML("", "TOC", fieldXML("", ` HYPERLINK \l "x" `, "<w:r>"+wt("Chapter")+"<w:tab/></w:r>"+fieldXML("", "PAGEREF x", "<w:r>"+wt("7")+"</w:r>"))) + `</w:p>`, want: "Chapter\t7"},
		{name: "a result within the code of a field within a code", body: `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>IF </w:instrText></w:r><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>= </w:instrText></w:r>` + fieldXML("", "PAGE", "<w:r>"+wt("1")+"</w:r>") + `<w:r><w:instrText> + 1</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r>` + wt("2") + `</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:instrText> = 2 "a"</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r>` + wt("a") + `</w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, want: "a"},
		{name: "a computed field within another one", body: `<w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>QUOTE </w:instrText></w:r>` + fieldXML("", `SYMBOL 65`, "") + `<w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`, want: "A"},
		{name: "deleted codes and codes outside of a field", body: `<w:p><w:r><w:instrText>PAGE</w:instrText></w:r><w:r>` + wt("x") + `</w:r><w:del><w:r><w:delInstrText>DATE</w:delInstrText></w:r></w:del></w:p>`, want: "x"},
		{name: "fields that are computed from the code", body: `<w:p>` + fieldXML("", `SYMBOL 183 \f "Symbol" \s 12`, "") + fieldXML("", `EQ \f(1,2) \r(3,x)`, "") + fieldXML("", `EQ \s\up(2)`, "") + `</w:p>`, want: "•1/2 ∛x^2"},
		{name: "links", rels: "l hyperlink https://example.com/terms", body: `<w:p><w:hyperlink r:id="l"><w:r>` + wt("our terms") + `</w:r></w:hyperlink><w:r>` + wt(", ") + `</w:r>` + fieldXML("", ` HYPERLINK "mailto:a@example.com" `, "<w:r>"+wt("a@example.com")+"</w:r>") + `<w:hyperlink w:anchor="x"><w:r>` + wt(" above") + `</w:r></w:hyperlink></w:p>`, want: "our terms (https://example.com/terms), a@example.com above"},
		{name: "links with another prefix", rels: "l hyperlink https://example.com/terms", body: `<w:p><w:hyperlink rel:id="l"><w:r>` + wt("terms") + `</w:r></w:hyperlink></w:p>`, want: "terms (https://example.com/terms)"},
		{name: "ruby", body: `<w:p><w:r><w:ruby><w:rubyPr/><w:rt><w:r>` + wt("とうきょう") + `</w:r></w:rt><w:rubyBase><w:r>` + wt("東京") + `</w:r></w:rubyBase></w:ruby></w:r><w:r>` + wt("へ") + `</w:r></w:p>`, want: "東京(とうきょう)へ"},
		{name: "tracked changes", body: `<w:p><w:pPr><w:rPr><w:del/></w:rPr><w:pPrChange><w:pPr><w:numPr><w:numId w:val="9"/></w:numPr></w:pPr></w:pPrChange></w:pPr><w:ins><w:r>` + wt("new ") + `</w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:moveFrom><w:r>` + wt("away") + `</w:r></w:moveFrom></w:p><w:p><w:moveTo><w:r>` + wt("here") + `</w:r></w:moveTo></w:p><w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:del><w:r><w:delText>x</w:delText></w:r></w:del></w:p></w:tc></w:tr></w:tbl>`, want: "new here"},
		{name: "hidden text", body: `<w:p><w:r><w:rPr><w:vanish/></w:rPr>` + wt("secret") + `<w:tab/></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr>` + wt("shown") + `</w:r></w:p>`, want: "shown"},
		{name: "cells that span columns", body: `<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="2"/></w:tcPr>` + runs(wt("both")) + `</w:tc><w:tc>` + runs(wt("third")) + `</w:tc></w:tr></w:tbl>`, want: "both\t\tthird"},
		{name: "embedded HTML", rels: "c aFChunk chunk.dat", body: runs(wt("before")) + `<w:altChunk r:id="c"/>` + runs(wt("after")), parts: []string{"word/chunk.dat", "<p>from <b>HTML</b></p>"}, want: "before\nfrom **HTML**\nafter"},
		{name: "embedded text", rels: "c aFChunk chunk.txt", body: `<w:altChunk r:id="c"/>`, parts: []string{"word/chunk.txt", "plain\xfcbung und \xe4hnliches"}, want: "plainübung und ähnliches"},
		{name: "a note with a symbol", body: runs(wt("x") + `<w:footnoteReference w:id="2"/>`), parts: []string{"word/footnotes.xml", `<w:footnotes><w:footnote w:id="2">` + runs(wt("a")+"<w:noBreakHyphen/>"+wt("b")) + `</w:footnote></w:footnotes>`}, want: "x[1]\n\nNotes:\n[1] a\u2011b"},
		{name: "WordArt", body: `<w:p><w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r></w:p>`, want: "DRAFT"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{Name: "a.docx"}, word(t, c.body, c.rels, c.parts...))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", []any{got.Text, got.Truncated}, []any{c.want, false})
		})
	}
	t.Run("an embedded document", func(t *testing.T) {
		t.Parallel()
		inner := word(t, runs(wt("inner")+"<w:noBreakHyphen/>"), "")
		got, err := readIn(t.Context(), Request{}, word(t, `<w:altChunk r:id="c"/>`+runs(wt("outer")), "c aFChunk /word/inner.docx", "word/inner.docx", inner))
		same(t, "text", []any{err, got.Text}, []any{nil, "inner\u2011\nouter"})
	})
	for name, body := range map[string]string{
		"an unknown symbol":             runs(wt("x") + `<w:sym w:font="MT Extra" w:char="F04A"/>`),
		"a character of the program":    runs(wt("x") + `<w:pgNum/>`),
		"a field without result":        `<w:p><w:r>` + wt("x") + `</w:r><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p>`,
		"an embedded file that is lost": runs(wt("x")) + `<w:altChunk r:id="none"/>`,
		"a field without end":           `<w:p><w:r>` + wt("x") + `<w:fldChar w:fldCharType="begin"/></w:r></w:p>` + runs(wt("rest")),
	} {
		t.Run("says that it lost "+name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{}, word(t, body, ""))
			if err != nil || !got.Truncated || !strings.HasPrefix(got.Text, "x") {
				t.Errorf("got %v, %+v", err, got)
			}
		})
	}
	t.Run("refuses a document of pictures", func(t *testing.T) {
		t.Parallel()
		_, err := readIn(t.Context(), Request{}, word(t, `<w:p><w:r><w:drawing/></w:r></w:p>`, ""))
		has(t, refusal(t, err), "only pictures")
		_, err = readIn(t.Context(), Request{}, word(t, `<w:p/>`, ""))
		has(t, refusal(t, err), "no text")
	})
}

// TestWord_computes_list_labels compares the labels of lists with those that Word computes.
func TestWord_computes_list_labels(t *testing.T) {
	t.Parallel()
	need.Time(t)
	level := func(i, format, text, more string) string {
		return `<w:lvl w:ilvl="` + i + `"><w:start w:val="1"/><w:numFmt w:val="` + format + `"/>` + more + `<w:lvlText w:val="` + text + `"/></w:lvl>`
	}
	item := func(list, level, text string) string {
		return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + list + `"/></w:numPr></w:pPr><w:r>` + wt(text) + `</w:r></w:p>`
	}
	styled := func(style, text string) string {
		return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r>` + wt(text) + `</w:r></w:p>`
	}
	numbering := `<w:numbering xmlns:w="w">
<w:abstractNum w:abstractNumId="0">` + level("0", "upperRoman", "%1.", "") + level("1", "lowerLetter", "%2)", "") + level("2", "decimal", "%1.%2.%3", "<w:isLgl/>") + `</w:abstractNum>
<w:abstractNum w:abstractNumId="1">` + level("0", "bullet", "\uF0B7", `<w:rPr><w:rFonts w:ascii="Symbol"/></w:rPr>`) + level("1", "bullet", "o", "") + `</w:abstractNum>
<w:abstractNum w:abstractNumId="2">` + level("0", "decimal", "§ %1", `<w:pStyle w:val="Clause"/>`) + level("1", "decimal", "%1.%2", `<w:pStyle w:val="SubClause"/><w:lvlRestart w:val="0"/>`) + `</w:abstractNum>
<w:abstractNum w:abstractNumId="3">` + level("0", "chineseCounting", "第%1条", `<w:suff w:val="nothing"/>`) + level("1", "decimalZero", "%2", "") + `</w:abstractNum>
<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="1"/><mc:AlternateContent><mc:Choice Requires="w14"><w:numFmt w:val="custom" w:format="001, 002, 003, ..."/></mc:Choice><mc:Fallback><w:numFmt w:val="decimal"/></mc:Fallback></mc:AlternateContent><w:lvlText w:val="%1"/></w:lvl></w:abstractNum><w:num w:numId="7"><w:abstractNumId w:val="7"/></w:num>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="2"/></w:num><w:num w:numId="4"><w:abstractNumId w:val="3"/></w:num>
<w:num w:numId="5"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride></w:num>
<w:num w:numId="6"><w:abstractNumId w:val="0"/></w:num></w:numbering>`
	styles := `<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="Clause"><w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="SubClause"><w:basedOn w:val="Clause"/><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Child"><w:basedOn w:val="Clause"/></w:style></w:styles>`
	for _, c := range []struct{ name, body, want string }{
		{"levels that start again", item("1", "0", "a") + item("1", "1", "b") + item("1", "1", "c") + item("1", "0", "d") + item("1", "1", "e"), "I. a\na) b\nb) c\nII. d\na) e"},
		{"numbers of all levels", item("1", "0", "a") + item("1", "1", "b") + item("1", "2", "c"), "I. a\na) b\n1.1.1 c"},
		{"bullets", item("2", "0", "a") + item("2", "1", "b"), "• a\no b"},
		{"lists of styles", styled("Clause", "a") + styled("SubClause", "b") + styled("Clause", "c") + styled("SubClause", "d") + styled("Child", "e"), "§ 1 a\n1.1 b\n§ 2 c\n2.2 d\n§ 3 e"},
		{"Chinese numbers", strings.Repeat(item("4", "0", "x"), 11) + item("4", "1", "y"), "第一条x\n第二条x\n第三条x\n第四条x\n第五条x\n第六条x\n第七条x\n第八条x\n第九条x\n第十条x\n第十一条x\n01 y"},
		{"lists of one definition", item("1", "0", "a") + item("6", "0", "continues") + item("5", "0", "starts again") + item("5", "0", "b"), "I. a\nII. continues\nI. starts again\nII. b"},
		{"numbers with zeros", item("7", "0", "a") + item("7", "0", "b"), "001 a\n002 b"},
		{"a list that is removed", `<w:p><w:pPr><w:pStyle w:val="Clause"/><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr><w:r>` + wt("plain") + `</w:r></w:p>`, "plain"},
		{"a list in a table", "<w:tbl><w:tr><w:tc>" + item("1", "0", "a") + item("1", "0", "b") + "</w:tc><w:tc>" + item("1", "0", "c") + "</w:tc></w:tr></w:tbl>", "I. a II. b\tIII. c"},
		{"a paragraph whose end was deleted", item("1", "0", "a") + strings.Replace(item("1", "0", "b "), "</w:pPr>", "<w:rPr><w:del/></w:rPr></w:pPr>", 1) + item("1", "0", "c") + item("1", "0", "d"), "I. a\nII. b c\nIII. d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{}, word(t, c.body, "n numbering numbering.xml\ns styles styles.xml", "word/numbering.xml", numbering, "word/styles.xml", styles))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c.want)
		})
	}
}

func TestFormatNumber_writes_like_Word(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n            int
		format, want string
	}{
		{1994, "upperRoman", "MCMXCIV"}, {28, "lowerLetter", "bb"}, {0, "lowerRoman", "0"}, {21, "ordinal", "21st"}, {112, "ordinal", "112th"}, {42, "cardinalText", "Forty-two"}, {30, "ordinalText", "Thirtieth"},
		{3, "decimalEnclosedCircle", "③"}, {15, "hebrew1", "טו"}, {105, "chineseCounting", "一百零五"}, {110, "japaneseCounting", "百十"}, {7, "no such format", "7"}, {5, "russianLower", "д"}, {255, "hex", "FF"},
	} {
		if got := formatNumber(c.n, c.format); got != c.want {
			t.Errorf("%d as %s: got %q, want %q", c.n, c.format, got, c.want)
		}
	}
}
