package nodes

import (
	"bytes"
	"fmt"
	"mime"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"

	"sluice/flow"
	"sluice/nodes/errtext"
)

// documentFormats are the formats by the ending of a name.
var documentFormats = map[string]string{
	".pdf": "pdf", ".docx": "docx", ".xlsx": "xlsx", ".pptx": "pptx", ".odt": "odt",
	".html": "html", ".htm": "html", ".xhtml": "html", ".md": "markdown", ".markdown": "markdown",
	".csv": "csv", ".tsv": "csv", ".txt": "text", ".text": "text", ".log": "text", ".json": "text", ".xml": "text", ".yaml": "text", ".yml": "text",
}

// documentTypes are the formats by media type, of those that content alone does
// not tell.
var documentTypes = map[string]string{
	"text/html": "html", "application/xhtml+xml": "html", "text/markdown": "markdown", "text/csv": "csv", "text/tab-separated-values": "csv",
}

// supported is what a refusal names.
const supported = "Sluice reads PDF, Word (DOCX), Excel (XLSX), PowerPoint (PPTX), OpenDocument text (ODT), HTML, Markdown, CSV and plain text"

// read reads what was asked for. It runs in a child process.
func (r reading) read(data []byte) readText {
	if r.Page {
		return r.readPage(data)
	}
	switch format := r.format(data); format {
	case "pdf":
		return r.readPDF(data)
	case "docx", "xlsx", "pptx", "odt":
		return r.readOffice(format, data)
	case "html":
		return r.readHTML(data)
	case "":
		return readText{Refused: r.unsupported(data)}
	default:
		return bounded(readText{Format: format, Pages: 1, Text: decodeText(data, r.MIME, "")})
	}
}

// format tells what the content is: by its first bytes where these tell, or
// else by its name and media type. It is empty for what is no document.
func (r reading) format(data []byte) string {
	head := data[:min(len(data), 1024)]
	mediaType, _, _ := mime.ParseMediaType(r.MIME)
	named := documentFormats[strings.ToLower(path.Ext(r.Name))]
	switch {
	case bytes.Contains(head, []byte("%PDF-")):
		return "pdf"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return officeFormat(data)
	case !isText(data):
		return ""
	case named != "" && named != "pdf" && !isOffice(named):
		return named
	case documentTypes[mediaType] != "":
		return documentTypes[mediaType]
	case looksLikeHTML(head):
		return "html"
	}
	return "text"
}

func isOffice(format string) bool {
	return format == "docx" || format == "xlsx" || format == "pptx" || format == "odt"
}

func looksLikeHTML(head []byte) bool {
	start := strings.ToLower(strings.TrimSpace(strings.TrimPrefix(string(head), "\uFEFF")))
	return strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
}

// isText reports whether content can be text at all: it has no zero bytes, unless
// it begins as UTF-16 does.
func isText(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
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

func (r reading) unsupported(data []byte) string {
	what := "This kind of file"
	switch {
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0")):
		return "This is a file of an older Office (DOC, XLS or PPT). Save it as DOCX, XLSX, PPTX or PDF; " + supported + "."
	case r.Name != "":
		what = "The file " + errtext.Truncate(r.Name, 60)
	}
	return what + " is not a document Sluice can read. " + supported + "."
}

// bounded cuts a text that is too long for a value and says so.
func bounded(t readText) readText {
	if len(t.Text) > flow.MaxTextBytes {
		cut := t.Text[:flow.MaxTextBytes]
		for !utf8.ValidString(cut[max(0, len(cut)-utf8.UTFMax):]) && len(cut) > flow.MaxTextBytes-utf8.UTFMax {
			cut = cut[:len(cut)-1]
		}
		t.Text, t.Truncated = strings.ToValidUTF8(cut, ""), true
	}
	return t
}

// maxAbout is how long a title or another thing that a document says about
// itself may be, in characters.
const maxAbout = 2000

// short cuts what a document says about itself.
func (t readText) short() readText {
	t.Title = errtext.Truncate(strings.ToValidUTF8(t.Title, ""), maxAbout)
	for name, value := range t.Meta {
		if text, ok := value.(string); ok {
			t.Meta[name] = errtext.Truncate(text, maxAbout)
		}
	}
	return t
}

// decodeText converts bytes to valid UTF-8, by their byte order mark, the
// declared charset, or else as UTF-8. If they are not valid UTF-8, the charset
// is the one declared in the HTML, for an HTML content type, or Windows-1252.
func decodeText(data []byte, contentType, fallback string) string {
	_, params, _ := mime.ParseMediaType(contentType)
	declared := params["charset"]
	if e, _, certain := charset.DetermineEncoding(data[:min(len(data), 1024)], ""); certain && hasMark(data) {
		return decodeWith(e, data)
	}
	if e, name := charset.Lookup(declared); e != nil && name != "utf-8" && name != "replacement" {
		return decodeWith(e, data)
	}
	if utf8.Valid(data) {
		return string(data)
	}
	if mostlyUTF8(data) { // a few bytes were damaged on the way
		return strings.ToValidUTF8(string(data), "\uFFFD")
	}
	if fallback == "text/html" {
		e, _, _ := charset.DetermineEncoding(data[:min(len(data), 1024)], "text/html")
		return decodeWith(e, data)
	}
	return decodeWith(charmap.Windows1252, data)
}

// mostlyUTF8 reports whether at least as many characters beyond ASCII are well
// formed as bytes are not: in other encodings that happens by chance only.
func mostlyUTF8(data []byte) bool {
	good, bad := 0, 0
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			bad++
		} else if size > 1 {
			good++
		}
		data = data[size:]
	}
	return good >= bad
}

func hasMark(data []byte) bool {
	for _, mark := range []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return true
		}
	}
	return false
}

func decodeWith(e encoding.Encoding, data []byte) string {
	out, err := e.NewDecoder().Bytes(data)
	if err != nil {
		out = data
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\uFEFF")
}

// pageTexts puts the texts of pages together.
type pageTexts struct {
	b strings.Builder
}

func (p *pageTexts) add(text string) {
	if text == "" {
		return
	}
	if p.b.Len() > 0 {
		p.b.WriteString("\n\n")
	}
	p.b.WriteString(text[:min(len(text), max(0, flow.MaxTextBytes-p.b.Len()))])
}

// full reports whether no more text fits into a value.
func (p *pageTexts) full() bool { return p.b.Len() >= flow.MaxTextBytes }

// String is valid UTF-8 even where the limit cut a character in half.
func (p *pageTexts) String() string { return strings.ToValidUTF8(p.b.String(), "") }

// pageRange is pages from first to last, both counted from 1.
type pageRange struct{ first, last int }

// parsePages reads "1-5" or "2, 4-6, 9-"; an empty text means all pages.
func parsePages(s string) ([]pageRange, error) {
	var list []pageRange
	for part := range strings.SplitSeq(s, ",") {
		part = strings.ReplaceAll(strings.TrimSpace(part), " ", "")
		if part == "" {
			continue
		}
		from, to, isRange := strings.Cut(part, "-")
		r := pageRange{last: 1 << 30}
		var err error
		if r.first, err = strconv.Atoi(from); err == nil && to != "" {
			r.last, err = strconv.Atoi(to)
		}
		if !isRange {
			r.last = r.first
		}
		if err != nil || r.first < 1 || r.last < r.first {
			return nil, fmt.Errorf("wanted pages such as 3, 1-5 or 2,4-6, got %q", errtext.Truncate(part, 40))
		}
		list = append(list, r)
	}
	return list, nil
}

// choose returns the requested pages that exist, in document order, or why
// there is nothing to read.
func (r reading) choose(count int, unit string) (numbers []int, refused string) {
	ranges, _ := parsePages(r.Pages) // checked before the child was started
	for n := 1; n <= count; n++ {
		wanted := len(ranges) == 0
		for _, p := range ranges {
			wanted = wanted || n >= p.first && n <= p.last
		}
		if wanted {
			numbers = append(numbers, n)
		}
	}
	if len(numbers) == 0 && count > 0 {
		return nil, fmt.Sprintf("Wanted %ss %s, but there are only %d.", unit, errtext.Truncate(r.Pages, 60), count)
	}
	return numbers, ""
}

// firstPages leaves out what is beyond the most pages that may be read.
func (r reading) firstPages(numbers []int) (first []int, truncated bool) {
	if r.MaxPages > 0 && len(numbers) > r.MaxPages {
		return numbers[:r.MaxPages], true
	}
	return numbers, false
}
