package documents

import "testing"

// BenchmarkPDF measures reading the first page, with the engine compiled, and
// each further page with its image.
func BenchmarkPDF(b *testing.B) {
	for name, req := range map[string]Request{"first page": {Pages: "1"}, "all pages": {}, "all pages with images": {Images: true}} {
		b.Run(name, func(b *testing.B) {
			data := testFile(b, "chromium.pdf")
			for b.Loop() {
				if _, err := readIn(b.Context(), req, data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
