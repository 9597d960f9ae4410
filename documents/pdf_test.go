package documents

import (
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/need"
)

func TestPDF(t *testing.T) {
	t.Parallel()
	need.Time(t)
	t.Run("of a browser", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, testFile(t, "chromium.pdf"))
		if err != nil {
			t.Fatal(err)
		}
		same(t, "facts", []any{got.Pages, got.Title, got.Format, got.Truncated}, []any{3, "Delivery terms 2026", "pdf", false})
		has(t, got.Text,
			"Zürich sends twice a day; “express” costs 4 € more.\n\nAsk us for efficient offers: affluent, office, waffle, flow —\nthe ligatures.",
			"First point of the list\nSecond point of the list\n\nPrices\nWeight\tCountry\tPrice\nup to 1 kg\tSwitzerland\t7.00\nup to 5 kg\tÖsterreich\t19.50\n\nTwo columns",
			"The left column tells how\na parcel is packed.", "two\nsides.\n\nThe right column tells", "Привет, мир. Γειά σου Κόσμε.")
	})
	t.Run("of PostScript", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{}, testFile(t, "ghostscript.pdf"))
		same(t, "text", []any{err, got.Text}, []any{nil, "A letter made by PostScript, with fi and fl.\nWide spaces between these words.\n\nSecond paragraph in Helvetica (bold).\n\nPage two."})
	})
	t.Run("some pages", func(t *testing.T) {
		t.Parallel()
		got, err := readIn(t.Context(), Request{Pages: "2-"}, testFile(t, "ghostscript.pdf"))
		same(t, "page 2", []any{err, got.Text, got.Pages, got.Truncated}, []any{nil, "Page two.", 2, false})
		got, err = readIn(t.Context(), Request{MaxPages: 1}, testFile(t, "ghostscript.pdf"))
		same(t, "truncated", []any{err, got.Truncated}, []any{nil, true})
		_, err = readIn(t.Context(), Request{Pages: "7"}, testFile(t, "ghostscript.pdf"))
		has(t, refusal(t, err), "only 2")
	})
	page := minimalPDF
	for _, c := range []struct{ name, file, want string }{
		{"written by hand", page("BT /F 12 Tf 72 700 Td (Hello \\(world\\) \\344) Tj 0 -14 Td <5477> Tj ET"), "Hello (world) ä\nTw"},
		{"with an image inside", page("BT /F 12 Tf 72 700 Td (before) Tj ET BI /W 1 /H 1 /CS /RGB /BPC 8 ID (((\nEI BT /F 12 Tf 72 680 Td (after) Tj ET"), "before\nafter"},
		{"with words by kerning", page("BT /F 10 Tf 12 TL 50 700 Td [(Two) -300 (wor) 20 (ds)] TJ (three) ' ET"), "Two words\nthree"},
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
			got, err := readIn(t.Context(), Request{}, c.file)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "text", got.Text, c.want)
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
