package documents

import (
	"testing"

	"sluice/e2e/need"
)

// TestHTML_reads_like_browsers compares the text of HTML with what a browser shows.
func TestHTML_reads_like_browsers(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, c := range []struct{ name, content, want string }{
		{"raised and lowered digits", "<p>10<sup>6</sup> and H<sub>2</sub>O, 2<sup>-3</sup>, 1<sup>st</sup>, x<sup>1,2</sup>", "10⁶ and H₂O, 2⁻³, 1st, x^(1,2)"},
		{"links to footnotes", `<p>as said<sup><a href="#n">1</a></sup>`, "as said[1](#n)"},
		{"ruby", "<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby><ruby>漢<rt>かん</rt></ruby>", "東京(とうきょう)漢(かん)"},
		{"equations", "<p>E = <math><mfrac><mrow><mi>m</mi><mo>+</mo><mn>1</mn></mrow><mn>2</mn></mfrac></math>, <math><msup><mn>10</mn><mn>6</mn></msup></math>, <math><msqrt><mn>16</mn></msqrt></math>", "E = (m+1)/2, 10^6, √16"},
		{"equations with a source", `<p><math><semantics><msup><mi>x</mi><mn>2</mn></msup><annotation encoding="application/x-tex">x^{2}</annotation></semantics></math>`, "x^{2}"},
		{"lists with letters", "<ol type=a start=3><li>one<li><p>two</p></ol>", "- c. one\n- d. two"},
		{"lists with numbers", "<ol start=3><li>one<li>two</ol>", "3. one\n4. two"},
		{"form fields", `<p>Name: <input value="Ana Doe"> <input type=checkbox checked> yes <input type=checkbox> no <select><option>A<option selected>B</select> <textarea>a note</textarea> <input type=hidden value=secret>`, "Name: Ana Doe ☒ yes ☐ no B a note"},
		{"spaces and hyphens", "<p>a&shy;b&nbsp;c&#8209;d", "a\u00ADb\u00A0c\u2011d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{Name: "a.html", MIME: "text/html; charset=utf-8"}, c.content)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c.want)
		})
	}
}
