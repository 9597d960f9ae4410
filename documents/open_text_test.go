package documents

import (
	"testing"

	"sluice/e2e/need"
)

// TestOpenText_reads_like_LibreOffice compares the text of OpenDocument files with what LibreOffice shows.
func TestOpenText_reads_like_LibreOffice(t *testing.T) {
	t.Parallel()
	need.Time(t)
	styles := `<office:automatic-styles><text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" style:num-format="a" style:num-suffix=")" text:display-levels="2"/></text:list-style><text:list-style style:name="L2"><text:list-level-style-bullet text:level="1" text:bullet-char="–"/></text:list-style></office:automatic-styles>`
	item := func(s string) string { return `<text:list-item><text:p>` + s + `</text:p></text:list-item>` }
	for _, c := range []struct{ name, body, want string }{
		{"lists", `<text:list text:style-name="L1">` + item("one") + `<text:list-item><text:p>two</text:p><text:p>more</text:p><text:list>` + item("inner") + `</text:list></text:list-item></text:list><text:list text:style-name="L2">` + item("bullet") + `</text:list><text:list text:style-name="L1" text:continue-numbering="true">` + item("three") + `</text:list>`,
			"1. one\n2. two\nmore\n2.a) inner\n– bullet\n3. three"},
		{"spaces", `<text:p>a<text:s text:c="3"/>b<text:s/>c</text:p>`, "a   b c"},
		{"links", `<text:p><text:a xlink:href="https://example.com">site</text:a> <text:a xlink:href="#x">above</text:a></text:p>`, "site (https://example.com) above"},
		{"formulas", `<text:p>x = <draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>`, "x = {1} over {2}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{}, zipped(t, "mimetype", "application/vnd.oasis.opendocument.text", "content.xml", `<office:document-content>`+styles+`<office:body><office:text>`+c.body+`</office:text></office:body></office:document-content>`,
				"Object 1/content.xml", `<math xmlns="http://www.w3.org/1998/Math/MathML"><semantics><mfrac><mn>1</mn><mn>2</mn></mfrac><annotation encoding="StarMath 5.0">{1} over {2}</annotation></semantics></math>`))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", []any{got.Text, got.Truncated}, []any{c.want, false})
		})
	}
}
