package documents

import (
	"bytes"
	"mime"
	"path"
	"strings"
	"unicode"

	"sluice/documents/charset"
	"sluice/documents/pdfium"
	"sluice/flow/wording"
)

// maxMark is the number of bytes in which the signature of a format is searched. Adobe's
// readers accept the header of a PDF anywhere in the first 1024 bytes (PDF
// Reference 1.7, appendix H.3), and some programs put lines before it, such as the
// PJL commands of printer drivers.
const maxMark = 1024

// documentFormats maps file extensions to formats.
var documentFormats = map[string]string{
	".pdf": "pdf", ".docx": "docx", ".xlsx": "xlsx", ".pptx": "pptx", ".odt": "odt",
	".rtf": "rtf", ".eml": "eml", ".mht": "eml", ".mhtml": "eml",
	".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
	".csv": "csv", ".tsv": "csv", ".txt": "text", ".text": "text", ".log": "text", ".json": "text", ".xml": "text", ".yaml": "text", ".yml": "text",
}

// documentTypes maps media types to formats that cannot be detected by content.
var documentTypes = map[string]string{
	"text/html": "html", "application/xhtml+xml": "html", "text/markdown": "markdown", "text/csv": "csv", "text/tab-separated-values": "csv",
	"message/rfc822": "eml", "multipart/related": "eml",
}

// supported lists the formats in error messages.
const supported = "Sluice reads PDF, Word (DOCX), Excel (XLSX), PowerPoint (PPTX), OpenDocument text (ODT), RTF, e-mail (EML), HTML, Markdown, CSV and plain text"

// reading is a document that a child reads.
type reading struct {
	Request
	data   []byte
	engine *pdfium.Engine    // nil unless the content is a PDF
	draw   func(Image) error // receives the images of pages
}

// read reads the document in its format. An *Error can be shown to users.
func (r *reading) read() (doc *Document, err error) {
	if r.WebPage {
		doc, err = r.readWebPage()
	} else {
		doc, err = r.readDocument()
	}
	if err != nil {
		return nil, err
	}
	if err := r.checkText(doc); err != nil {
		return nil, err
	}
	doc.cut()
	return doc, nil
}

// checkText refuses a document without text: an empty result would look like success. A text file may be empty, which is
// only mentioned, and a PDF may be wanted for its page images.
func (r *reading) checkText(doc *Document) error {
	if strings.TrimSpace(doc.Text) != "" || doc.Format == "pdf" {
		return nil
	}
	switch {
	case r.WebPage:
		return refuse("The page has no text.")
	case doc.Format == "text" || doc.Format == "markdown" || doc.Format == "csv":
		if len(r.data) == 0 {
			doc.warn("The file is empty.")
		} else {
			doc.warn("The file has no text, only white space.")
		}
		return nil
	case doc.pictures > 0:
		return refuse("The document has no text, only pictures or other objects, which are not read. Save it as a PDF, turn on Page images and connect them to a model with vision.")
	}
	return refuse("The document has no text.")
}

// readDocument reads a file in the format that its content shows, because names and
// media types are often wrong; see format.
func (r *reading) readDocument() (*Document, error) {
	if len(r.data) == 0 && r.URL != "" {
		return nil, refuse("The file is empty: the server sent no content.")
	}
	switch format := r.format(); format {
	case "pdf":
		return r.readPDF()
	case "docx", "xlsx", "pptx", "odt":
		return r.readOffice(format)
	case "html":
		return r.readHTML()
	case "csv":
		return r.readCSV(), nil
	case "rtf":
		return r.readRTF(), nil
	case "eml":
		return r.readMail(), nil
	case "":
		return nil, r.unsupported()
	default:
		return r.readText(format), nil
	}
}

// format returns the format of the content: by its first bytes if they are specific, else
// by its name and media type. It returns "" if the content is not a document.
//
// Content comes first because names and media types come from the sender and are
// often wrong: a browser labels a CSV as an Excel file, a server sends everything
// as application/octet-stream. Only among the text formats, which look alike, does
// the name decide, and then the media type.
func (r *reading) format() string {
	data := r.data
	head := data[:min(len(data), maxMark)]
	mediaType, _, _ := mime.ParseMediaType(r.MIME)
	named := documentFormats[strings.ToLower(path.Ext(r.Name))]
	switch {
	case bytes.Contains(head, []byte("%PDF-")):
		return "pdf"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return officeFormat(data)
	case bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte(`{\rtf`)):
		return "rtf"
	case !isText(data):
		return ""
	case named == "rtf": // without its mark
		return "text"
	case named != "" && named != "pdf" && !isOffice(named):
		return named
	case documentTypes[mediaType] != "":
		return documentTypes[mediaType]
	case looksLikeHTML(head):
		return "html"
	case looksLikeMail(data):
		return "eml"
	}
	return "text"
}

// isOffice reports whether a format is a ZIP archive of XML parts. A name alone does
// not make a text one of these.
func isOffice(format string) bool {
	return format == "docx" || format == "xlsx" || format == "pptx" || format == "odt"
}

// looksLikeHTML reports whether a text begins with a doctype or an html element.
// Fragments of HTML count as text, since Markdown and logs hold them, too.
func looksLikeHTML(head []byte) bool {
	start := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(head), "\uFEFF")))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// isText reports whether content can be text: it has no zero bytes, unless it is UTF-16 or
// UTF-32, and at most one byte in twenty is a control character other than white space and
// ESC, which colors the output of terminals in logs.
// Only the first 64 KiB are checked.
func isText(data []byte) bool {
	if _, marked := charset.Marked(data); marked {
		return true
	}
	if _, found := charset.UTF16(data); found {
		return true
	}
	head := data[:min(len(data), 64<<10)]
	odd := 0
	for _, c := range head {
		if c == 0 {
			return false
		}
		if c < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b {
			odd++
		}
	}
	return odd*20 <= len(head)
}

// unsupported explains why no format was found. D0 CF 11 E0 is the signature of a
// Compound File ([MS-CFB]): the container of DOC, XLS and PPT, and also of an
// encrypted DOCX, XLSX or PPTX ([MS-OFFCRYPTO]), which is no ZIP for this reason.
func (r *reading) unsupported() *Error {
	what := "This kind of file"
	switch {
	case bytes.HasPrefix(r.data, []byte("\xd0\xcf\x11\xe0")):
		return refuse("This is a file of an older Office (DOC, XLS or PPT), an Outlook message (MSG), or an Office file protected by a password. Save it as DOCX, XLSX, PPTX, EML or PDF without a password; %s.", supported)
	case r.Name != "":
		what = "The file " + wording.Truncate(r.Name, 60)
	}
	return refuse("%s is not a document Sluice can read. %s.", what, supported)
}

// maxAbout is the maximum length of a title or other metadata, in characters.
const maxAbout = 2000

// cut shortens the text and metadata to their limits. It sets Truncated if it cuts the text.
func (d *Document) cut() {
	if len(d.Text) > MaxText {
		d.Text, d.Truncated = wording.CutBytes(d.Text, MaxText), true
	}
	d.Text = strings.ToValidUTF8(d.Text, "\uFFFD")
	d.Title = wording.Truncate(strings.ToValidUTF8(d.Title, ""), maxAbout)
	for name, value := range d.Meta {
		if text, ok := value.(string); ok {
			d.Meta[name] = wording.Truncate(text, maxAbout)
		}
	}
}

// pageTexts concatenates the texts of pages.
type pageTexts struct {
	b      strings.Builder
	starts []int // by page; see begin
}

// begin records that the text of page n, counted from 1, comes next.
func (p *pageTexts) begin(n int) {
	for len(p.starts) < n {
		p.starts = append(p.starts, p.b.Len())
	}
}

// pageStarts returns where the text of each page begins in the text without the white space around it.
func (p *pageTexts) pageStarts() []int {
	s := p.String()
	leading := len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
	for i := range p.starts {
		p.starts[i] = max(0, p.starts[i]-leading)
	}
	return p.starts
}

// add appends the text of a page after a blank line. Text beyond MaxText is dropped.
func (p *pageTexts) add(text string) {
	if text == "" {
		return
	}
	if p.b.Len() > 0 {
		p.b.WriteString("\n\n")
	}
	p.b.WriteString(text[:min(len(text), max(0, MaxText-p.b.Len()))])
}

// full reports whether the text has reached MaxText.
func (p *pageTexts) full() bool { return p.b.Len() >= MaxText }

// String returns the text as valid UTF-8, even if the limit cut a character in half.
func (p *pageTexts) String() string { return strings.ToValidUTF8(p.b.String(), "") }
