package documents

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

const (
	// maxOfficeBytes is the limit of the unpacked size of all parts of an Office file that
	// are read, in bytes.
	maxOfficeBytes = 128 << 20
	// maxOfficeParts is the maximum number of parts of such a file.
	maxOfficeParts = 20_000
	// maxXMLDepth is the maximum nesting of elements.
	maxXMLDepth = 1000
)

// officeFile is a DOCX, XLSX, PPTX or ODT: XML files in a ZIP. The first three are
// Office Open XML (ECMA-376), in which relationships connect the parts of a
// package; ODT is OpenDocument (ISO/IEC 26300), which has fixed names.
//
// The budget left is shared by all parts, and each read of a part counts. A ZIP bomb
// packs gigabytes into kilobytes, and limits per part would not help against a file
// with many parts.
type officeFile struct {
	parts map[string]*zip.File
	left  int64 // bytes that may still be unpacked
}

var (
	// errTooLarge is returned for a document that unpacks to more than maxOfficeBytes.
	errTooLarge   = refuse("The document is too large: unpacked it has more than 128 MiB. Split it.")
	damagedOffice = refuse("The document is damaged and could not be read. Save it again with another program.")
)

// openOffice reads the directory of a ZIP without unpacking anything. If several parts have
// the same name, the last one is used.
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

// officeFormat returns the format of an Office file, or "" for any other ZIP.
func officeFormat(data []byte) string {
	f, err := openOffice(data)
	if err != nil {
		return ""
	}
	main := f.mainPart()
	if strings.HasSuffix(main, ".bin") { // the binary format of Excel
		return ""
	}
	if format := mainElements[f.rootElement(main)]; format != "" {
		return format
	}
	directory, _, _ := strings.Cut(main, "/") // of a part that cannot be read
	if format := map[string]string{"word": "docx", "xl": "xlsx", "ppt": "pptx"}[directory]; format != "" {
		return format
	}
	if strings.HasPrefix(f.mediaType(), "application/vnd.oasis.opendocument.text") {
		return "odt"
	}
	return ""
}

// mainElements maps the outermost element of the main part of a file to its format.
var mainElements = map[string]string{"document": "docx", "workbook": "xlsx", "presentation": "pptx"}

// mainPart returns the name of the part that begins an Office Open XML file, or "" if there is no such part. Programs choose
// the name: Word Online writes word/document2.xml. A file without relationships has the usual name.
func (f *officeFile) mainPart() string {
	targets, err := f.targets("")
	if err != nil {
		return ""
	}
	for _, t := range targets {
		if strings.HasSuffix(t.kind, "/officeDocument") && !t.external && f.parts[t.part] != nil {
			return t.part
		}
	}
	for _, usual := range []string{"word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"} {
		if f.parts[usual] != nil {
			return usual
		}
	}
	return ""
}

// rootElement returns the local name of the outermost element of a part, or "".
func (f *officeFile) rootElement(part string) (name string) {
	_ = f.walk(part, xmlVisitor{enough: func() bool { return name != "" },
		begin: func(local string, _ map[string]string) { name = local }}) // a damaged part has no name
	return name
}

// mediaType returns the media type that an OpenDocument file states in its part "mimetype"
// (ODF 1.2, part 3, section 3.3), or "" for other files.
func (f *officeFile) mediaType() string {
	content, err := f.open("mimetype")
	if err != nil {
		return ""
	}
	defer content.Close() //nolint:errcheck // it is in memory
	data, _ := io.ReadAll(io.LimitReader(content, 256))
	return string(data)
}

// open returns a reader that unpacks a part. A missing part is empty.
func (f *officeFile) open(name string) (io.ReadCloser, error) {
	part := f.parts[name]
	if part == nil {
		return io.NopCloser(strings.NewReader("")), nil
	}
	if part.UncompressedSize64 > uint64(f.left) { // rejected unread; one that states too small a size is cut there
		return nil, errTooLarge
	}
	content, err := part.Open()
	if err != nil {
		return nil, err
	}
	return officePart{content, f}, nil
}

// content unpacks a part.
func (f *officeFile) content(name string) ([]byte, error) {
	r, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close() //nolint:errcheck // it is in memory
	return io.ReadAll(r)
}

// contentType returns the media type of a part, which the file states for each part or for the extension of its name.
func (f *officeFile) contentType(part string) (mediaType string) {
	exact := false
	_ = f.walk("[Content_Types].xml", xmlVisitor{begin: func(name string, a map[string]string) {
		switch {
		case name == "Override" && strings.TrimPrefix(a["PartName"], "/") == part:
			mediaType, exact = a["ContentType"], true
		case name == "Default" && !exact && strings.EqualFold("."+a["Extension"], path.Ext(part)):
			mediaType = a["ContentType"]
		}
	}}) // a damaged list has no types
	return mediaType
}

// officePart is a reader of a part that counts unpacked bytes.
type officePart struct {
	io.ReadCloser
	file *officeFile
}

// Read counts the unpacked bytes toward the limit that all parts of the file share, and fails
// when it is exceeded.
func (p officePart) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if p.file.left -= int64(n); p.file.left < 0 {
		return n, errTooLarge
	}
	return n, err
}

// walk reads a part element by element. It calls visit with the local name and attributes
// of each start tag, with the name of each end tag, and with the text between.
//
// Tokens are raw: namespaces are not resolved, and end tags are not matched with start
// tags. That is faster, and also reads XML that is not quite well-formed. A visitor must
// therefore not rely on balanced elements. Entities that a document type
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
			if visit.end != nil {
				visit.end(t.Name.Local)
			}
		case xml.CharData:
			if visit.text != nil {
				visit.text(string(t))
			}
		}
	}
	return errors.New("elements lie too deep in each other")
}

// xmlVisitor holds the callbacks of walk. All but begin may be nil.
type xmlVisitor struct {
	begin  func(name string, attributes map[string]string)
	end    func(name string)
	text   func(s string)
	enough func() bool // reports whether to stop
}

// attributes returns the attributes of an element by their local names. Those that name a
// relationship get the prefix r, whatever prefix the file has for it, because the entry of a slide
// has both an id and an r:id.
func attributes(t xml.StartElement) map[string]string {
	named := make(map[string]string, len(t.Attr))
	for _, a := range t.Attr {
		name := a.Name.Local
		if space := a.Name.Space; space == "r" || space != "" && space != t.Name.Space && (name == "id" || name == "dm") {
			name = "r:" + name
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
		err = f.wordText(out)
	case "odt":
		err = f.openText(out)
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

// title returns the title in the metadata of the file, or "".
func (f *officeFile) title() (title string) {
	for _, part := range []string{"docProps/core.xml", "meta.xml"} {
		text, _ := f.elementText(part, "title") // best effort: a document without a title is usable
		title += text
	}
	return strings.TrimSpace(title)
}

// elementText returns the text of all elements of a part with a name, up to the first element in them.
func (f *officeFile) elementText(part, element string) (string, error) {
	var text strings.Builder
	inside := false
	err := f.walk(part, xmlVisitor{
		begin: func(name string, _ map[string]string) { inside = name == element },
		end:   func(string) { inside = false },
		text: func(s string) {
			if inside {
				text.WriteString(s)
			}
		},
	})
	return text.String(), err
}
