package documents

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"sluice/e2e/need"
)

// placed is a text at a place of a page, turned by degrees.
type placed struct {
	text    string
	x, y    float64
	size    float64
	degrees float64
}

// placedPDF is a page with texts in the order of the file.
func placedPDF(texts []placed) string {
	var b strings.Builder
	for _, p := range texts {
		sin, cos := math.Sincos(p.degrees * math.Pi / 180)
		fmt.Fprintf(&b, "BT /F %g Tf %.6f %.6f %.6f %.6f %g %g Tm (%s) Tj ET\n", p.size, cos, sin, -sin, cos, p.x, p.y, p.text)
	}
	return minimalPDF(b.String())
}

// grid places the cells of a table, turned around the middle of the page. Each row is a text of cells separated by bars.
func grid(columns []float64, degrees float64, byColumn bool, rows ...string) (list []placed) {
	cells := make([][]string, len(rows))
	for i, row := range rows {
		cells[i] = strings.Split(row, "|")
	}
	place := func(i, j int) {
		if j >= len(cells[i]) || cells[i][j] == "" {
			return
		}
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		x, y := columns[j]-150, 120-16*float64(i)
		list = append(list, placed{cells[i][j], 300 + x*cos - y*sin, 400 + x*sin + y*cos, 10, degrees})
	}
	if byColumn {
		for j := range columns {
			for i := range cells {
				place(i, j)
			}
		}
		return list
	}
	for i := range cells {
		for j := range columns {
			place(i, j)
		}
	}
	return list
}

// TestPDF_places_words_by_position places the words of pages, whatever their order and line breaks in PDFium.
func TestPDF_places_words_by_position(t *testing.T) {
	t.Parallel()
	need.Time(t)
	columns := []float64{50, 130, 250}
	prose := []string{"The left column tells how a parcel|The right column tells of other", "is packed and sent by the people|things that the people wrote down", "who work in the big house near|in a second long text of lines", "the river and the old mill there.|that fill the column quite well."}
	type example struct {
		name  string
		texts []placed
		want  string
	}
	examples := []example{
		{"cells of one character", grid(columns, 0, false, "Widget|2|10.00", "Gadget|3|20.00"), "Widget\t2\t10.00\nGadget\t3\t20.00"},
		{"row numbers", grid(columns, 0, false, "#|Name|Points", "1|Ana|12", "2|Bob|7", "3|Cy|30"), "#\tName\tPoints\n1\tAna\t12\n2\tBob\t7\n3\tCy\t30"},
		{"only cells of one character", grid(columns, 0, false, "a|b|c", "1|2|3", "4|5|6"), "a\tb\tc\n1\t2\t3\n4\t5\t6"},
		{"a single column of digits", grid(columns, 0, false, "1", "2", "3"), "1\n2\n3"},
		{"columns one after the other", grid(columns, 0, true, "Item|Qty|Price", "Widget|2|10.00", "Gadget|3|20.00", "Bolt|7|1.50"), "Item\tQty\tPrice\nWidget\t2\t10.00\nGadget\t3\t20.00\nBolt\t7\t1.50"},
		{"columns of one character one after the other", grid(columns, 0, true, "a|b|c", "1|2|3", "4|5|6"), "a\tb\tc\n1\t2\t3\n4\t5\t6"},
		{"empty cells", grid(columns, 0, false, "Item|Qty|Price", "Widget|2|10.00", "Gadget||20.00", "Total||30.00"), "Item\tQty\tPrice\nWidget\t2\t10.00\nGadget\t\t20.00\nTotal\t\t30.00"},
		{"cells from right to left", []placed{{"10.00", 250, 700, 10, 0}, {"2", 130, 700, 10, 0}, {"Widget", 50, 700, 10, 0}, {"20.00", 250, 684, 10, 0}, {"3", 130, 684, 10, 0}, {"Gadget", 50, 684, 10, 0}}, "Widget\t2\t10.00\nGadget\t3\t20.00"},
		{"two columns of text", grid([]float64{0, 220}, 0, true, prose...), "The left column tells how a parcel\nis packed and sent by the people\nwho work in the big house near\nthe river and the old mill there.\n\nThe right column tells of other\nthings that the people wrote down\nin a second long text of lines\nthat fill the column quite well."},
		{"raised and lowered digits", []placed{{"The dose is 10", 50, 700, 12, 0}, {"6", 129, 705, 7, 0}, {"of CO", 137, 700, 12, 0}, {"2", 168.5, 697, 7, 0}}, "The dose is 10⁶ of CO₂"},
		{"a watermark", append([]placed{{"DRAFT COPY", 200, 300, 40, 45}}, grid(columns, 0, false, "Body text", "in lines")...), "DRAFT COPY\n\nBody text\nin lines"},
	}
	for _, degrees := range []float64{90, 180, 270, 30} {
		examples = append(examples,
			example{fmt.Sprintf("a table turned by %v degrees", degrees), grid(columns, degrees, false, "Item|Qty|Price", "Widget|2|10.00", "Gadget|3|20.00"), "Item\tQty\tPrice\nWidget\t2\t10.00\nGadget\t3\t20.00"},
			example{fmt.Sprintf("lines turned by %v degrees below a heading", degrees), append([]placed{{"Upright heading", 50, 750, 12, 0}}, grid(columns, degrees, false, "Alpha first sentence of text", "Beta second sentence of text", "Gamma third sentence of text")...),
				"Upright heading\n\nAlpha first sentence of text\nBeta second sentence of text\nGamma third sentence of text"},
		)
	}
	for _, c := range examples {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := readIn(t.Context(), Request{}, placedPDF(c.texts))
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c.want)
		})
	}
	t.Run("a turned page", func(t *testing.T) {
		t.Parallel()
		page := placedPDF(grid(columns, 90, false, "Item|Qty|Price", "Widget|2|10.00"))
		got, err := readIn(t.Context(), Request{}, strings.Replace(page, "/Parent 2 0 R /Contents", "/Parent 2 0 R /Rotate 90 /Contents", 1))
		same(t, "text", []any{err, got.Text}, []any{nil, "Item\tQty\tPrice\nWidget\t2\t10.00"})
	})
}

// annotatedPDF is a page with a line of text, annotations, which are the objects from 6 on, and the fields of a form.
func annotatedPDF(content, form string, annotations ...string) string {
	var refs strings.Builder
	for i := range annotations {
		fmt.Fprintf(&refs, "%d 0 R ", i+6)
	}
	return pdfOf(append([]string{
		"<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [" + form + "] >> >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R /Annots [" + refs.String() + "] /Resources << /Font << /F 4 0 R >> >> >>",
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
		pdfStream("", content),
	}, annotations...)...)
}

func TestPDF_reads_annotations(t *testing.T) {
	t.Parallel()
	need.Time(t)
	const line = "BT /F 10 Tf 50 700 Td (Total: 31.50) Tj ET"
	t.Run("comments", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, annotatedPDF(line, "",
			"<< /Type /Annot /Subtype /Text /Rect [100 690 120 710] /T (Ada) /Contents (Is this right?) >>",
			"<< /Type /Annot /Subtype /Popup /Rect [120 690 220 760] /Parent 6 0 R /Contents (Is this right?) >>",
			"<< /Type /Annot /Subtype /Highlight /Rect [50 698 120 712] /QuadPoints [50 712 120 712 50 698 120 698] /Contents (Total: 31.50) >>",
			"<< /Type /Annot /Subtype /StrikeOut /Rect [50 698 120 712] /QuadPoints [50 712 120 712 50 698 120 698] /Contents (Remove) >>",
			"<< /Type /Annot /Subtype /Text /Rect [100 690 120 710] /F 2 /Contents (hidden) >>",
			"<< /Type /Annot /Subtype /Text /Rect [100 690 120 710] /IRT 6 0 R /StateModel (Review) /State (Accepted) /Contents (Accepted set by Bob) >>"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "text", got.Text, "Total: 31.50\n\nComments:\nAda: Is this right?\nRemove")
	})
	radio := func(state, more string, x int, on bool) string {
		shown := "Off"
		if on {
			shown = state
		}
		return fmt.Sprintf("<< /Type /Annot /Subtype /Widget /Parent 6 0 R /Rect [%d 698 %d 710] /AS /%s /AP << /N << /%s 9 0 R /Off 9 0 R >> >> %s >>", x, x+12, shown, state, more)
	}
	group := func(more string, value string) string {
		return "<< /FT /Btn /Ff 49152 /T (color) /TU (Color) /V /" + value + " /Kids [7 0 R 8 0 R] " + more + " >>"
	}
	drawn := pdfStream("/Type /XObject /Subtype /Form /BBox [0 0 12 12]", "")
	const labels = "BT /F 10 Tf 65 700 Td (Red wine) Tj 85 0 Td (Green tea) Tj ET"
	for _, c := range []struct{ name, file, want string }{
		{"with names", annotatedPDF(line, "6 0 R", group("", "green"), radio("red", "", 50, false), radio("green", "", 135, true), drawn), "Color: green"},
		{"with a list of names", annotatedPDF(line, "6 0 R", group("/Opt [(Rot) (Gr\\374n)]", "1"), radio("0", "", 50, false), radio("1", "", 135, true), drawn), "Color: Grün"},
		{"with alternate names", annotatedPDF(line, "6 0 R", group("", "1"), radio("0", "/TU (Rouge)", 50, false), radio("1", "/TU (Vert)", 135, true), drawn), "Color: Vert"},
		{"with labels on the page", annotatedPDF(labels, "6 0 R", group("", "Choice1"), radio("Choice1", "", 50, true), radio("Choice2", "", 135, false), drawn), "Color: Red wine"},
		{"with a label on the page after others", annotatedPDF(labels, "6 0 R", group("", "2"), radio("1", "", 50, false), radio("2", "", 135, true), drawn), "Color: Green tea"},
	} {
		t.Run("radio buttons "+c.name, func(t *testing.T) {
			t.Parallel()
			// the group and the appearance of a button are objects, but no annotations
			file := strings.Replace(c.file, "/Annots [6 0 R 7 0 R 8 0 R 9 0 R ]", "/Annots [7 0 R 8 0 R]", 1)
			got, err := readIn(t.Context(), Request{}, file)
			if err != nil {
				t.Fatal(err)
			}
			has(t, got.Text, "Form fields:\n"+c.want)
			if strings.Count(got.Text, "Color:") != 1 {
				t.Errorf("got %q", got.Text)
			}
		})
	}
}
