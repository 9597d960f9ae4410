package documents

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/textproto"
	"path"
	"strings"

	"sluice/documents/charset"
	"sluice/flow/wording"
)

const (
	// maxMailParts and maxMailDepth bound the parts of a message and their nesting.
	maxMailParts = 1000
	maxMailDepth = 10
	// maxMailHeader bounds the header of a message in bytes.
	maxMailHeader = 256 << 10
)

// mailReader converts an e-mail (RFC 5322 with MIME, RFC 2045) to text.
type mailReader struct {
	*reading
	out         *Document
	parts       int
	attachments []string
	words       mime.WordDecoder
	archive     bool // it is a saved page, whose header is not shown
}

// readMail reads a message: its main header fields, its text and the names of its attachments. A web archive (MHTML) is
// a message whose parts are a page and its pictures.
func (r *reading) readMail() *Document {
	m := &mailReader{reading: r, out: &Document{Format: "eml", Pages: 1}}
	m.words.CharsetReader = func(name string, in io.Reader) (io.Reader, error) {
		e, err := charset.Lookup(name)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(in)
		return strings.NewReader(e.Decode(data)), err
	}
	extension := strings.ToLower(path.Ext(r.Name))
	m.archive = extension == ".mht" || extension == ".mhtml" || strings.HasPrefix(r.MIME, "multipart/related")
	m.out.Text = m.message(r.data, 0)
	return m.out
}

// message returns the text of a message.
func (m *mailReader) message(data []byte, depth int) string {
	header, body := mailHeader(data)
	var b strings.Builder
	for _, name := range []string{"From", "To", "Cc", "Date", "Subject"} {
		value := m.decodeWords(header.Get(name))
		if depth == 0 && name == "Subject" {
			m.out.Title = value
		}
		if value != "" && !m.archive {
			b.WriteString(name + ": " + value + "\n")
		}
	}
	outer := m.attachments
	m.attachments = nil
	text := m.part(header, body, depth)
	if m.archive {
		return text
	}
	if text == "" {
		what := "The message has no text."
		if len(m.attachments) > 0 {
			what = "The message has no text, only attachments."
		}
		m.out.warn("%s", what)
	}
	b.WriteString("\n" + text)
	if len(m.attachments) > 0 {
		b.WriteString("\n\nAttachments:\n" + strings.Join(m.attachments, "\n"))
	}
	m.attachments = outer
	return strings.TrimSpace(b.String())
}

// part returns the text of a part and of the parts in it. Anything else is listed as an attachment.
func (m *mailReader) part(header textproto.MIMEHeader, body []byte, depth int) string {
	mediaType, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil && mediaType == "" {
		mediaType = "text/plain"
	}
	m.parts++
	if m.parts > maxMailParts || depth > maxMailDepth {
		m.out.Truncated = true
		return ""
	}
	disposition, about, _ := mime.ParseMediaType(header.Get("Content-Disposition"))
	name := m.decodeWords(about["filename"])
	if name == "" {
		name = m.decodeWords(params["name"])
	}
	if strings.HasPrefix(mediaType, "multipart/") {
		return m.multipart(mediaType, params["boundary"], body, depth)
	}
	data := m.decodeTransfer(header.Get("Content-Transfer-Encoding"), body)
	switch {
	case mediaType == "message/rfc822" && (disposition != "attachment" || depth < maxMailDepth):
		return "Attached message:\n" + m.message(data, depth+1)
	case disposition == "attachment" || name != "" && disposition != "inline":
	case mediaType == "text/plain" || mediaType == "message/delivery-status" || mediaType == "text/markdown":
		d := decodeText(data, header.Get("Content-Type"), "", m.Encoding)
		d.describe(m.out)
		text := strings.ReplaceAll(lineEnds.Replace(d.Text), "\r\n", "\n")
		if strings.EqualFold(params["format"], "flowed") {
			text = unfolded(text, strings.EqualFold(params["delsp"], "yes"))
		}
		return strings.TrimSpace(text)
	case mediaType == "text/html" || mediaType == "application/xhtml+xml":
		return m.html(data, header)
	}
	if name == "" {
		name = "unnamed"
	}
	m.attachments = append(m.attachments, fmt.Sprintf("- %s (%s, %d bytes)", wording.Truncate(oneLine(name), maxFileTitle), mediaType, len(data)))
	return ""
}

// maxFileTitle is the maximum length of an attachment's name in characters.
const maxFileTitle = 200

// html returns a part in HTML as Markdown.
func (m *mailReader) html(data []byte, header textproto.MIMEHeader) string {
	d := decodeText(data, header.Get("Content-Type"), "text/html", m.Encoding)
	d.describe(m.out)
	doc, err := parseHTML(d.Text, false)
	if err != nil {
		m.out.Truncated = true
		return ""
	}
	return markdownOf(doc, baseOf(doc, header.Get("Content-Location")))
}

// multipart returns the texts of several parts. Alternatives are the same text in several formats. The first one with
// text is taken: senders put plain text first.
func (m *mailReader) multipart(mediaType, boundary string, body []byte, depth int) string {
	if boundary == "" {
		m.out.Truncated = true
		return ""
	}
	var texts []string
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		p, err := r.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			m.out.Truncated = true
			break
		}
		data, err := io.ReadAll(p)
		m.out.Truncated = m.out.Truncated || err != nil // the end is missing
		if m.parts > maxMailParts {
			break
		}
		if mediaType == "multipart/alternative" && len(texts) > 0 {
			continue
		}
		if text := m.part(p.Header, data, depth+1); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// decodeTransfer undoes the encoding for transport. What is left of a damaged part is kept.
func (m *mailReader) decodeTransfer(encoding string, body []byte) []byte {
	var data []byte
	var err error
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "base64":
		clean := bytes.Map(func(r rune) rune {
			if r == '=' || r <= ' ' {
				return -1
			}
			return r
		}, body)
		data, err = base64.RawStdEncoding.AppendDecode(nil, clean)
	case "quoted-printable":
		data, err = io.ReadAll(quotedprintable.NewReader(bytes.NewReader(body)))
	default:
		return body
	}
	m.out.Truncated = m.out.Truncated || err != nil
	return data
}

// decodeWords decodes a header field: encoded words such as =?utf-8?q?...?= (RFC 2047), and bytes of an older encoding.
func (m *mailReader) decodeWords(s string) string {
	s = decodeText([]byte(s), "", "", m.Encoding).Text
	if decoded, err := m.words.DecodeHeader(s); err == nil {
		s = decoded
	}
	return oneLine(s)
}

// mailHeader splits a message. Unlike net/mail it accepts lines that are not header fields, which old programs wrote.
func mailHeader(data []byte) (textproto.MIMEHeader, []byte) {
	header := textproto.MIMEHeader{}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	last := ""
	for read := 0; len(data) > 0; {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		read += len(line) + 1
		data = rest
		line = bytes.TrimRight(line, "\r")
		name, value, isField := bytes.Cut(line, []byte(":"))
		switch {
		case len(line) == 0 || read > maxMailHeader:
			return header, data
		case (line[0] == ' ' || line[0] == '\t') && last != "":
			values := header[last]
			values[len(values)-1] += " " + string(bytes.TrimSpace(line))
		case isField && !bytes.ContainsAny(name, " \t"):
			last = textproto.CanonicalMIMEHeaderKey(string(name))
			header.Add(last, string(bytes.TrimSpace(value)))
		}
	}
	return header, nil
}

// mailFields are header fields that messages have.
var mailFields = []string{"From", "To", "Subject", "Date", "Mime-Version", "Message-Id", "Received", "Return-Path", "Delivered-To", "Content-Type", "Reply-To"}

// looksLikeMail reports whether a text begins as a message: with header fields only, some of them those of mail.
func looksLikeMail(data []byte) bool {
	head := data[:min(len(data), 16<<10)]
	for i, line := range bytes.Split(head, []byte("\n")) {
		line = bytes.TrimRight(line, "\r")
		if len(line) == 0 {
			break
		}
		name, _, isField := bytes.Cut(line, []byte(":"))
		folded := line[0] == ' ' || line[0] == '\t'
		if i == 0 && folded || !folded && (!isField || bytes.ContainsAny(name, " \t")) {
			return false
		}
	}
	header, _ := mailHeader(head)
	known := 0
	for _, name := range mailFields {
		if header.Get(name) != "" {
			known++
		}
	}
	return known >= 3 && (header.Get("Mime-Version") != "" || header.Get("Message-Id") != "" || header.Get("Received") != "" || header.Get("Return-Path") != "")
}

// unfolded joins the lines of a paragraph in the format "flowed" (RFC 3676): a line that ends with a space continues in the
// next one, and with deleteSpace without that space.
func unfolded(text string, deleteSpace bool) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		line = strings.TrimPrefix(line, " ") // stuffed
		if !strings.HasSuffix(line, " ") || line == "-- " {
			b.WriteString(line + "\n")
			continue
		}
		if deleteSpace {
			line = line[:len(line)-1]
		}
		b.WriteString(line)
	}
	return b.String()
}
