package nodes

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"sluice/flow"
)

const (
	// maxOfficeBytes is what all parts of an Office file that are read may
	// unpack to.
	maxOfficeBytes = 128 << 20
	// maxOfficeParts is how many parts such a file may have.
	maxOfficeParts = 20_000
	// maxXMLDepth is how deep elements may lie in each other.
	maxXMLDepth = 1000
)

// officeFile is a DOCX, XLSX, PPTX or ODT: XML files in a ZIP.
type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that may still be unpacked
}

var errOfficeTooLarge = errors.New("the file unpacks to more than 128 MiB")

func openOffice(data []byte) (*officeFile, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(z.File) > maxOfficeParts {
		return nil, fmt.Errorf("the file has more than %d parts", maxOfficeParts)
	}
	f := &officeFile{parts: map[string]*zip.File{}, left: maxOfficeBytes}
	for _, part := range z.File {
		f.parts[strings.TrimPrefix(part.Name, "/")] = part
	}
	return f, nil
}

// officeFormat is the format of a ZIP, or nothing when it is another kind.
func officeFormat(data []byte) string {
	f, err := openOffice(data)
	if err != nil {
		return ""
	}
	for part, format := range map[string]string{"word/document.xml": "docx", "xl/workbook.xml": "xlsx", "ppt/presentation.xml": "pptx"} {
		if f.parts[part] != nil {
			return format
		}
	}
	if strings.HasPrefix(f.mediaType(), "application/vnd.oasis.opendocument.text") {
		return "odt"
	}
	return ""
}

// mediaType is what an OpenDocument file says that it is.
func (f *officeFile) mediaType() string {
	content, err := f.open("mimetype")
	if err != nil {
		return ""
	}
	defer content.Close() //nolint:errcheck // it is in memory
	data, _ := io.ReadAll(io.LimitReader(content, 256))
	return string(data)
}

// open unpacks a part while it is read. One that is absent is empty.
func (f *officeFile) open(name string) (io.ReadCloser, error) {
	part := f.parts[name]
	if part == nil {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if part.UncompressedSize64 > uint64(f.left) { // refused unread; a part that says less ends there
		return nil, errOfficeTooLarge
	}
	content, err := part.Open()
	if err != nil {
		return nil, err
	}
	return officePart{content, f}, nil
}

// officePart is a part that is read, which counts.
type officePart struct {
	io.ReadCloser
	file *officeFile
}

func (p officePart) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if p.file.left -= int64(n); p.file.left < 0 {
		return n, errOfficeTooLarge
	}
	return n, err
}

// walk reads a part element by element. visit is given the local name and the
// attributes when an element begins, the name alone when it ends, and the text
// between.
func (f *officeFile) walk(name string, visit xmlVisitor) error {
	content, err := f.open(name)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // it is in memory
	d := xml.NewDecoder(content)
	d.Strict = false
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("unknown charset") }
	for depth := 0; depth < maxXMLDepth; {
		if visit.enough != nil && visit.enough() {
			return nil
		}
		token, err := d.RawToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.StartElement:
			depth++
			visit.begin(t.Name.Local, attributes(t))
		case xml.EndElement:
			depth--
			visit.end(t.Name.Local)
		case xml.CharData:
			visit.text(string(t))
		}
	}
	return errors.New("elements lie too deep in each other")
}

// xmlVisitor is told what a part holds.
type xmlVisitor struct {
	begin  func(name string, attributes map[string]string)
	end    func(name string)
	text   func(s string)
	enough func() bool // tells when nothing more is wanted; may be nil
}

func attributes(t xml.StartElement) map[string]string {
	named := make(map[string]string, len(t.Attr))
	for _, a := range t.Attr {
		name := a.Name.Local
		if a.Name.Space == "r" {
			name = "r:" + name // r:id is the name of a relation
		}
		named[name] = a.Value
	}
	return named
}

// readOffice reads an Office file.
func (r reading) readOffice(format string, data []byte) readText {
	f, err := openOffice(data)
	if err != nil {
		return readText{Refused: officeRefusal(err)}
	}
	out := readText{Format: format, Pages: 1}
	switch format {
	case "docx":
		out.Text, out.Truncated, err = f.paragraphs("word/document.xml", docxNames)
	case "odt":
		out.Text, out.Truncated, err = f.paragraphs("content.xml", odtNames)
	case "xlsx":
		err = r.readSheets(f, &out)
	case "pptx":
		err = r.readSlides(f, &out)
	}
	if err != nil {
		return readText{Refused: officeRefusal(err)}
	}
	out.Title = f.title()
	return bounded(out)
}

func officeRefusal(err error) string {
	if errors.Is(err, errOfficeTooLarge) {
		return "The document is too large: unpacked it has more than 128 MiB. Save it in parts."
	}
	return "The document is damaged and could not be read. Save it again with another program."
}

// title is what the file says about itself.
func (f *officeFile) title() (title string) {
	in := false
	visit := xmlVisitor{
		begin: func(name string, _ map[string]string) { in = name == "title" },
		end:   func(string) { in = false },
		text: func(s string) {
			if in {
				title += s
			}
		},
	}
	for _, part := range []string{"docProps/core.xml", "meta.xml"} {
		_ = f.walk(part, visit) // a title is not worth failing for
	}
	return strings.TrimSpace(title)
}

// paragraphNames are the elements of a format that make up text.
type paragraphNames struct {
	paragraph, text []string // those that are a line, those that hold characters
	row, cell       string
	tab, lineBreak  []string
	skip            []string // what is no text of the document, such as deleted words
}

var (
	docxNames = paragraphNames{paragraph: []string{"p"}, text: []string{"t"}, row: "tr", cell: "tc",
		tab: []string{"tab"}, lineBreak: []string{"br", "cr"}, skip: []string{"pPr", "rPr", "Fallback", "del", "moveFrom"}}
	odtNames = paragraphNames{paragraph: []string{"p", "h"}, text: []string{"p", "h", "span", "a"}, row: "table-row", cell: "table-cell",
		tab: []string{"tab"}, lineBreak: []string{"line-break"}, skip: []string{"tracked-changes", "annotation", "note"}}
	slideNames = paragraphNames{paragraph: []string{"p"}, text: []string{"t"}, row: "tr", cell: "tc", lineBreak: []string{"br"}}
)

// paragraphs reads a part as lines; the cells of a table row are one line,
// separated by tabs. It stops when there is more than a value can hold.
func (f *officeFile) paragraphs(part string, names paragraphNames) (text string, truncated bool, err error) {
	w := &paragraphWriter{names: names}
	err = f.walk(part, xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full})
	if truncated = w.full(); truncated {
		w.out.WriteString(w.line.String()) // its end is not reached
	}
	return strings.TrimSpace(w.out.String()), truncated, err
}

// paragraphWriter makes lines of what it is told.
type paragraphWriter struct {
	names   paragraphNames
	out     strings.Builder
	line    strings.Builder
	cells   []string
	open    []string // the elements around
	rows    int      // how many of them are table rows
	skipped int      // how many of them are skipped
}

func (w *paragraphWriter) full() bool { return w.out.Len()+w.line.Len() > flow.MaxTextBytes }

func (w *paragraphWriter) begin(name string, attributes map[string]string) {
	w.open = append(w.open, name)
	switch {
	case slices.Contains(w.names.skip, name):
		w.skipped++
	case w.skipped > 0:
	case name == w.names.row:
		w.rows++
	case slices.Contains(w.names.tab, name):
		w.line.WriteByte('\t')
	case slices.Contains(w.names.lineBreak, name):
		w.lineBreak()
	case name == "s" && slices.Contains(w.names.skip, "tracked-changes"):
		w.line.WriteByte(' ') // OpenDocument writes repeated blanks as an element
	}
}

func (w *paragraphWriter) lineBreak() {
	if w.rows > 0 {
		w.line.WriteByte(' ')
		return
	}
	w.line.WriteByte('\n')
}

func (w *paragraphWriter) end(name string) {
	if n := len(w.open); n > 0 {
		w.open = w.open[:n-1]
	}
	if slices.Contains(w.names.skip, name) {
		w.skipped--
		return
	}
	if w.skipped > 0 {
		return
	}
	switch {
	case slices.Contains(w.names.paragraph, name) && w.rows == 0:
		w.out.WriteString(strings.TrimRight(w.line.String(), " ") + "\n")
		w.line.Reset()
	case slices.Contains(w.names.paragraph, name):
		w.line.WriteByte(' ') // paragraphs within a cell stay on its line
	case name == w.names.cell && w.rows == 1:
		w.cells = append(w.cells, strings.Join(strings.Fields(w.line.String()), " "))
		w.line.Reset()
	case name == w.names.row:
		if w.rows--; w.rows == 0 {
			w.out.WriteString(strings.TrimRight(strings.Join(w.cells, "\t"), "\t") + "\n")
			w.cells = nil
		}
	}
}

func (w *paragraphWriter) text(s string) {
	if n := len(w.open); n > 0 && w.skipped == 0 && slices.Contains(w.names.text, w.open[n-1]) {
		w.line.WriteString(s)
	}
}

// readSlides reads the text of each slide.
func (r reading) readSlides(f *officeFile, out *readText) error {
	slides, err := f.related("ppt/presentation.xml", "sldId")
	if err != nil {
		return err
	}
	numbers, refused := r.choose(len(slides), "slide")
	out.Pages, out.Refused = len(slides), refused
	numbers, out.Truncated = r.firstPages(numbers)
	var texts pageTexts
	for _, n := range numbers {
		text, cut, err := f.paragraphs(slides[n-1].part, slideNames)
		if err != nil {
			return err
		}
		out.Truncated = out.Truncated || cut
		if texts.add(text); texts.full() {
			break
		}
	}
	out.Text, out.Truncated = texts.String(), out.Truncated || texts.full()
	return nil
}

// relatedPart is a part that another one names.
type relatedPart struct{ name, part string }

// related lists the parts that elements of a part refer to, in its order.
func (f *officeFile) related(part, element string) ([]relatedPart, error) {
	targets := map[string]string{}
	nothing := func(string) {}
	rels := path.Join(path.Dir(part), "_rels", path.Base(part)+".rels")
	err := f.walk(rels, xmlVisitor{end: nothing, text: nothing, begin: func(name string, a map[string]string) {
		if name == "Relationship" {
			targets[a["Id"]] = a["Target"]
		}
	}})
	if err != nil {
		return nil, err
	}
	var list []relatedPart
	err = f.walk(part, xmlVisitor{end: nothing, text: nothing, begin: func(name string, a map[string]string) {
		target := targets[a["r:id"]]
		if name != element || target == "" {
			return
		}
		if !strings.HasPrefix(target, "/") {
			target = path.Join(path.Dir(part), target)
		}
		list = append(list, relatedPart{name: a["name"], part: strings.TrimPrefix(target, "/")})
	}})
	return list, err
}
