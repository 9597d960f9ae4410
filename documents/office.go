package documents

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
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

// officeFile is a DOCX, XLSX, PPTX or ODT: XML files in a ZIP. The first three are
// Office Open XML (ECMA-376), in which relationships connect the parts of a
// package; ODT is OpenDocument (ISO/IEC 26300), which has fixed names.
//
// The budget of left is shared by all parts and counts each time that a part is
// read. A ZIP bomb packs gigabytes into kilobytes, and bounding each part would
// not help against one of many parts.
type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that may still be unpacked
}

var (
	// errTooLarge refuses a document that unpacks to more than maxOfficeBytes: a ZIP of a
	// few kilobytes may contain gigabytes.
	errTooLarge   = refuse("The document is too large: unpacked it has more than 128 MiB. Split it.")
	damagedOffice = refuse("The document is damaged and could not be read. Save it again with another program.")
)

// openOffice reads the directory of a ZIP; it unpacks nothing. Of several parts
// with one name, the last counts.
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

// mediaType is what an OpenDocument file says that it is, in its part "mimetype"
// (ODF 1.2, part 3, section 3.3). It is "" for other files.
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
		return nil, errTooLarge
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

// Read counts the unpacked bytes towards the limit that all parts of the file share,
// and fails beyond it.
func (p officePart) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if p.file.left -= int64(n); p.file.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// walk reads a part element by element. visit is given the local name and the
// attributes when an element begins, the name alone when it ends, and the text
// between.
//
// Tokens are raw: namespaces are not resolved and an end need not match its start.
// That is faster, and it reads files whose XML is not quite well formed. A visitor
// must therefore not rely on balanced elements. Entities that a document type
// declares are never expanded (encoding/xml does not support them), so a "billion
// laughs" file stays small.
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

// attributes returns the attributes of an element by their local names. The prefix
// r is kept, because the entry of a slide has both an id and
// an r:id.
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
func (r *reading) readOffice(format string) (*Document, error) {
	if format == "xlsx" {
		return r.readSheets()
	}
	f, err := openOffice(r.data)
	if err != nil {
		return nil, damagedOffice
	}
	out := &Document{Format: format, Pages: 1}
	switch format {
	case "docx":
		out.Text, out.Truncated, err = f.wordText()
	case "odt":
		out.Text, out.Truncated, err = f.openText()
	case "pptx":
		err = r.readSlides(f, out)
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return nil, refused
	}
	if err != nil {
		return nil, damagedOffice
	}
	out.Title = f.title()
	return out, nil
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
