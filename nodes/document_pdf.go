package nodes

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/ledongthuc/pdf"
)

const (
	// maxPDFPages bounds the walk through a page tree, which may be made to
	// have no end.
	maxPDFPages = 100_000
	// maxPDFNodes is how many nodes of that tree may have pages below them, for
	// nodes that hold each other.
	maxPDFNodes = 20_000
	// maxPDFDepth bounds the way up and down the page tree. That of a hundred
	// thousand pages has some five levels.
	maxPDFDepth = 50
	// maxPDFStream is how many bytes one stream may unpack to.
	maxPDFStream = 64 << 20
	// maxPDFForms is how deep forms may be drawn inside forms.
	maxPDFForms = 8
	// pdfTail is how much of the end of a file is searched for its last mark.
	pdfTail = 1 << 20
)

// readPDF reads the text of the pages that were asked for. A page that is
// broken is left out.
func (r reading) readPDF(data []byte) (out readText) {
	out.Format = "pdf"
	defer func() {
		if fault := recover(); fault != nil {
			out.Refused = "The PDF is damaged and could not be read. Save it again with another program."
		}
	}()
	doc, pages, err := openPDF(data)
	if err != nil {
		out.Refused = "The PDF is damaged and could not be read. Save it again with another program."
		if err == pdf.ErrInvalidPassword || strings.Contains(err.Error(), "encryption") {
			out.Refused = "The PDF is locked by a password or a protection that Sluice does not open. Save it without and try again."
		}
		return out
	}
	out.Pages = len(pages)
	out.Title = pdfTitle(doc)
	numbers, refused := r.choose(len(pages), "page")
	if refused != "" {
		out.Refused = refused
		return out
	}
	numbers, out.Truncated = r.firstPages(numbers)
	var texts pageTexts
	broken := 0
	for _, n := range numbers {
		text, err := pdfPageText(pages[n-1])
		if err != nil {
			broken++
		}
		if texts.add(text); texts.full() {
			break
		}
	}
	out.Text = texts.String()
	out.Truncated = out.Truncated || broken > 0 || texts.full()
	if !hasWords(out.Text) {
		out.Refused = "There is no text inside the PDF; it may be scanned, which makes each page a picture. Read it with a hosted OCR model instead."
		if broken > 0 && broken == len(numbers) {
			out.Refused = "The pages of the PDF are damaged and could not be read. Save it again with another program."
		}
	}
	return out
}

// hasWords reports whether there is anything to read in a text.
func hasWords(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// openPDF opens a file after making good what readers forgive: bytes before its
// beginning and after its end, and a version the package does not know. When the
// table of objects is broken too, a new one is made.
func openPDF(data []byte) (*pdf.Reader, []pdf.Page, error) {
	if i := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); i > 0 {
		data = data[i:]
	}
	if len(data) < len("%PDF-1.7\n") {
		return nil, nil, fmt.Errorf("too short")
	}
	copy(data, "%PDF-1.7\n")
	tail := max(0, len(data)-pdfTail)
	if i := bytes.LastIndex(data[tail:], []byte("%%EOF")); i >= 0 {
		data = data[:tail+i+len("%%EOF")]
	}
	doc, pages, err := listPDF(data)
	if len(pages) > 0 || err == pdf.ErrInvalidPassword {
		return doc, pages, err
	}
	if repaired, ok := repairPDF(data); ok {
		return listPDF(repaired)
	}
	return doc, nil, err
}

func listPDF(data []byte) (*pdf.Reader, []pdf.Page, error) {
	doc, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, nil, err
	}
	return doc, pdfPages(doc), nil
}

// pdfPages lists the pages in order.
func pdfPages(doc *pdf.Reader) (pages []pdf.Page) {
	defer func() { _ = recover() }() // what was found until then is there
	seen, nodes := 0, 0
	var walk func(v pdf.Value, depth int)
	walk = func(v pdf.Value, depth int) {
		if seen++; seen > maxPDFPages || depth > maxPDFDepth {
			return
		}
		kids := v.Key("Kids")
		if kids.Kind() != pdf.Array {
			if v.Kind() == pdf.Dict {
				pages = append(pages, pdf.Page{V: v})
			}
			return
		}
		if nodes++; nodes > maxPDFNodes {
			return
		}
		for i := range kids.Len() {
			walk(kids.Index(i), depth+1)
		}
	}
	walk(doc.Trailer().Key("Root").Key("Pages"), 0)
	return pages
}

// pdfInherited is an entry of a page or of the nearest node above that has it.
// The package's own search has no end where nodes are each other's parents.
func pdfInherited(v pdf.Value, key string) pdf.Value {
	for range maxPDFDepth {
		if own := v.Key(key); !own.IsNull() {
			return own
		}
		v = v.Key("Parent")
	}
	return pdf.Value{}
}

func pdfTitle(doc *pdf.Reader) (title string) {
	defer func() { _ = recover() }() // a title is not worth failing for
	return strings.TrimSpace(doc.Trailer().Key("Info").Key("Title").Text())
}

// pdfPageText is the text of a page; what was read before it turned out broken
// is given too.
func pdfPageText(page pdf.Page) (text string, err error) {
	w := &pdfWriter{fonts: map[string]*pdfFont{}}
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("read page: %v", fault)
		}
		text = w.layout.String()
	}()
	contents, resources := page.V.Key("Contents"), pdfInherited(page.V, "Resources")
	w.state = newPDFState()
	if contents.Kind() != pdf.Array {
		return "", w.draw(streamData(contents), resources, 0)
	}
	var all []byte
	for i := range contents.Len() {
		all = append(append(all, streamData(contents.Index(i))...), '\n')
	}
	return "", w.draw(all, resources, 0)
}

// streamData unpacks a stream. What comes before an error is taken: many files
// have a wrong checksum at the end.
func streamData(v pdf.Value) []byte {
	if v.Kind() != pdf.Stream {
		return nil
	}
	data, _ := io.ReadAll(io.LimitReader(v.Reader(), maxPDFStream))
	return data
}
