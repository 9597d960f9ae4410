package documents

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"

	"sluice/documents/charset"
)

// Rich Text Format ("RTF Specification 1.9.1", Microsoft) is text with control words, such as \par, in nested groups. A
// group inherits the state of the one around it and restores it at its end. A group that begins with \* or with a known
// destination, such as \fonttbl, holds something else than text.

const (
	// maxRTFGroups bounds the nesting of groups.
	maxRTFGroups = 500
	// maxRTFFonts bounds the table of fonts.
	maxRTFFonts = 10_000
)

// rtfState is what a group inherits.
type rtfState struct {
	skip        bool   // the group has no text of the document
	destination string // "fonttbl", "title", "fldinst" or ""
	font        int
	unicodeSkip int // characters that follow a \u for readers that do not know it
	hidden      bool
	vertical    string // "superscript" or "subscript"
}

// rtfFont is a font of the table.
type rtfFont struct {
	encoding string // "" for that of the document
	symbol   bool
	name     string
}

// rtfReader converts RTF to text.
type rtfReader struct {
	data     []byte
	state    rtfState
	stack    []rtfState
	fonts    map[int]*rtfFont
	encoding string // of the document

	line   *bytes.Buffer
	out    *strings.Builder
	cells  []string
	title  strings.Builder
	notes  []string
	link   strings.Builder // the code of the innermost field
	links  []rtfLink
	asides []rtfAside

	pending  []byte // bytes that are not decoded yet: a character may have two
	skipNext int    // characters that a \u replaces
	units    []uint16
	lost     bool
	pictures int
	hidden   bool
}

// rtfLink is a field with the depth of its group, and where its result begins in the line.
type rtfLink struct {
	depth, start int
	target       string
}

// rtfAside is a footnote or a text box that is being read, with the line that it interrupts.
type rtfAside struct {
	depth int
	note  bool
	line  *bytes.Buffer
	out   *strings.Builder
	cells []string
}

// rtfSkipped are the destinations without text of the document. Headers and footers are left out, as in other formats.
var rtfSkipped = map[string]bool{
	"colortbl": true, "stylesheet": true, "info": true, "listtable": true, "listoverridetable": true, "revtbl": true, "rsidtbl": true, "generator": true,
	"header": true, "headerl": true, "headerr": true, "headerf": true, "footer": true, "footerl": true, "footerr": true, "footerf": true,
	"themedata": true, "colorschememapping": true, "datastore": true, "latentstyles": true, "xmlnstbl": true, "filetbl": true, "pntxta": true, "pntxtb": true,
	"objdata": true, "objclass": true, "bkmkstart": true, "bkmkend": true, "atnid": true, "atnref": true, "atrfstart": true, "atrfend": true, "mmathPr": true,
	"ftnsep": true, "ftnsepc": true, "ftncn": true, "aftnsep": true, "aftnsepc": true, "aftncn": true, "nonshppict": true, "sp": true, "tc": true, "xe": true,
	"fchars": true, "lchars": true, "template": true, "passwordhash": true, "wgrffmtfilter": true, "pgptbl": true, "background": true, "formfield": true,
}

// rtfWords are control words that stand for characters.
var rtfWords = map[string]string{
	"tab": "\t", "emdash": "—", "endash": "–", "emspace": "\u2003", "enspace": "\u2002", "qmspace": "\u2005", "bullet": "•",
	"lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "line": "\n", "softline": "\n", "zwj": "\u200D", "zwnj": "\u200C", "ltrmark": "\u200E", "rtlmark": "\u200F",
}

// rtfCharsets maps the numbers of \fcharset to encodings.
var rtfCharsets = map[int]string{
	77: "macintosh", 128: "shift_jis", 129: "euc-kr", 134: "gb18030", 136: "big5", 161: "windows-1253", 162: "windows-1254", 163: "windows-1258",
	177: "windows-1255", 178: "windows-1256", 186: "windows-1257", 204: "windows-1251", 222: "windows-874", 238: "windows-1250",
}

// readRTF reads a Rich Text file.
func (r *reading) readRTF() *Document {
	f := &rtfReader{data: r.data, fonts: map[int]*rtfFont{}, encoding: "windows-1252", state: rtfState{unicodeSkip: 1}, line: &bytes.Buffer{}, out: &strings.Builder{}}
	if r.Encoding != "" {
		f.encoding = r.Encoding
	}
	f.read()
	text := strings.TrimSpace(f.out.String())
	if len(f.notes) > 0 {
		text += "\n\nNotes:\n" + strings.Join(f.notes, "\n")
	}
	out := &Document{Format: "rtf", Pages: 1, Title: oneLine(f.title.String()), Text: text, Truncated: f.lost || f.out.Len() > MaxText, pictures: f.pictures}
	if f.hidden {
		out.warn("The document has hidden text, which was left out.")
	}
	return out
}

// read reads the file until it ends or the text is full.
func (f *rtfReader) read() {
	for len(f.data) > 0 && f.out.Len() <= MaxText && f.line.Len() <= MaxText {
		c := f.data[0]
		f.data = f.data[1:]
		switch c {
		case '{':
			f.flush()
			f.openGroup()
		case '}':
			f.flush()
			f.closeGroup()
		case '\\':
			f.control()
		case '\r', '\n':
		default:
			f.addByte(c)
		}
	}
	f.flush()
	for len(f.asides) > 0 {
		f.closeAside()
	}
	f.endRow()
	f.endLine()
}

// openGroup begins a group.
func (f *rtfReader) openGroup() {
	if len(f.stack) == maxRTFGroups {
		f.lost, f.data = true, nil
		return
	}
	f.stack = append(f.stack, f.state)
}

// closeGroup restores the state before the group.
func (f *rtfReader) closeGroup() {
	n := len(f.stack)
	if n == 0 {
		return
	}
	if len(f.links) > 0 && f.links[len(f.links)-1].depth == n {
		f.endLink()
	}
	if len(f.asides) > 0 && f.asides[len(f.asides)-1].depth == n {
		f.closeAside()
	}
	f.state, f.stack = f.stack[n-1], f.stack[:n-1]
	f.skipNext = 0
}

// control reads a control word or symbol after its backslash.
func (f *rtfReader) control() {
	if len(f.data) == 0 {
		return
	}
	c := f.data[0]
	if c|0x20 < 'a' || c|0x20 > 'z' {
		f.data = f.data[1:]
		f.symbolWord(c)
		return
	}
	end := 1
	for end < len(f.data) && end < 40 && f.data[end]|0x20 >= 'a' && f.data[end]|0x20 <= 'z' {
		end++
	}
	word := string(f.data[:end])
	f.data = f.data[end:]
	end = 0
	for end < len(f.data) && end < 12 && (f.data[end] >= '0' && f.data[end] <= '9' || end == 0 && f.data[end] == '-') {
		end++
	}
	number, err := strconv.Atoi(string(f.data[:end]))
	f.data = f.data[end:]
	if len(f.data) > 0 && f.data[0] == ' ' {
		f.data = f.data[1:]
	}
	f.word(word, number, err == nil)
}

// symbolWord handles a backslash before a character that is not a letter.
func (f *rtfReader) symbolWord(c byte) {
	switch c {
	case '\'':
		if len(f.data) > 1 {
			if n, err := strconv.ParseUint(string(f.data[:2]), 16, 8); err == nil {
				f.data = f.data[2:]
				f.addByte(byte(n))
			}
		}
	case '*':
		f.state.skip = true // unless the destination is known
	case '~', '_', '-':
		f.flush()
		f.put(map[byte]string{'~': "\u00A0", '_': "\u2011", '-': "\u00AD"}[c])
	case '\\', '{', '}':
		f.addByte(c)
	case '\r', '\n':
		f.word("par", 0, false)
	}
}

// word handles a control word.
func (f *rtfReader) word(word string, n int, hasNumber bool) {
	if word != "u" {
		f.flush()
	}
	on := !hasNumber || n != 0
	switch word {
	case "u":
		f.flushBytes()
		if f.skipping() {
			return
		}
		f.units = append(f.units, uint16(n))
		f.skipNext = f.state.unicodeSkip
	case "uc":
		f.state.unicodeSkip = max(0, min(n, 16))
	case "bin":
		f.data = f.data[min(max(n, 0), len(f.data)):]
	case "ansicpg":
		if e, err := charset.Lookup("windows-" + strconv.Itoa(n)); err == nil {
			f.encoding = e.Name
		} else if name := codePages[n]; name != "" {
			f.encoding = name
		}
	case "mac":
		f.encoding = "macintosh"
	case "pc":
		f.encoding = "ibm437"
	case "f":
		f.state.font = n
		if f.state.destination == "fonttbl" && f.fonts[n] == nil && len(f.fonts) < maxRTFFonts {
			f.fonts[n] = &rtfFont{}
		}
	case "fcharset":
		if font := f.fonts[f.state.font]; font != nil && f.state.destination == "fonttbl" {
			font.encoding, font.symbol = rtfCharsets[n], n == 2
		}
	case "plain":
		f.state.hidden, f.state.vertical = false, ""
	case "v", "deleted":
		f.state.hidden = on
	case "super", "sub", "nosupersub":
		f.state.vertical = map[string]string{"super": "superscript", "sub": "subscript"}[word]
		if !on {
			f.state.vertical = ""
		}
	default:
		f.structure(word)
	}
}

// structure handles control words that begin or end parts of the text, and destinations.
func (f *rtfReader) structure(word string) {
	switch word {
	case "par", "sect", "page", "column":
		f.endLine()
	case "cell", "nestcell":
		if !f.state.skip {
			f.cells = append(f.cells, oneLine(f.line.String()))
			f.line.Reset()
		}
	case "row", "nestrow":
		f.endRow()
	case "fonttbl":
		f.state.destination, f.state.skip = "fonttbl", true
	case "title":
		f.state.destination, f.state.skip = "title", true
	case "fldinst":
		f.state.destination, f.state.skip = "fldinst", true
		f.link.Reset()
	case "fldrslt":
		f.state.destination, f.state.skip = "", f.outerSkip()
		f.beginLink()
	case "footnote", "annotation":
		f.state.skip = f.outerSkip()
		f.openAside(true)
	case "shptxt", "textbox":
		f.state.skip = f.outerSkip()
		f.openAside(false)
	case "shpinst", "shppict", "listtext", "pntext", "ud", "atnauthor", "do", "dptxbxtext", "shprslt":
		f.state.skip = f.outerSkip() || word == "atnauthor" || word == "shprslt"
	case "pict", "object":
		f.pictures++
		f.state.skip = f.state.skip || word == "pict"
	case "chpgn", "chdate", "chtime", "sectnum":
		f.lost = f.lost || !f.state.skip
	default:
		if s, known := rtfWords[word]; known {
			f.put(s)
		} else if rtfSkipped[word] {
			f.state.skip = true
		}
	}
}

// outerSkip reports whether the group around has no text, so that a known destination in it has no text either.
func (f *rtfReader) outerSkip() bool {
	n := len(f.stack)
	return n > 0 && f.stack[n-1].skip
}

// skipping reports whether the next character is one that a \u replaces, and counts it.
func (f *rtfReader) skipping() bool {
	if f.skipNext > 0 {
		f.skipNext--
		return true
	}
	return false
}

// addByte adds a byte of text in the encoding of its font.
func (f *rtfReader) addByte(c byte) {
	if f.skipping() {
		return
	}
	f.flushUnits()
	f.pending = append(f.pending, c)
}

// flush writes what was read so far.
func (f *rtfReader) flush() {
	f.flushUnits()
	f.flushBytes()
}

// flushUnits writes characters of \u. Characters beyond the Basic Multilingual Plane are two units.
func (f *rtfReader) flushUnits() {
	if len(f.units) > 0 {
		s := string(utf16.Decode(f.units))
		f.units = f.units[:0]
		f.put(f.inFont(s))
	}
}

// flushBytes decodes pending bytes.
func (f *rtfReader) flushBytes() {
	if len(f.pending) == 0 {
		return
	}
	data := f.pending
	f.pending = f.pending[:0]
	encoding := f.encoding
	if font := f.fonts[f.state.font]; font != nil && f.state.destination != "fonttbl" {
		if font.symbol {
			f.put(f.inFont(decodeBytes("windows-1252", data)))
			return
		}
		if font.encoding != "" {
			encoding = font.encoding
		}
	}
	f.put(decodeBytes(encoding, data))
}

// inFont converts text in a symbol font.
func (f *rtfReader) inFont(s string) string {
	if font := f.fonts[f.state.font]; font != nil && font.symbol {
		return symbolText(strings.TrimRight(font.name, "; "), s)
	}
	return s
}

// put writes text to where the group belongs.
func (f *rtfReader) put(s string) {
	switch f.state.destination {
	case "fonttbl":
		if font := f.fonts[f.state.font]; font != nil && len(font.name) < maxLabel {
			font.name += s
		}
		return
	case "title":
		if f.title.Len() < maxAbout*4 {
			f.title.WriteString(s)
		}
		return
	case "fldinst":
		if f.link.Len() < maxFieldCode {
			f.link.WriteString(s)
		}
		return
	}
	switch {
	case f.state.skip:
	case f.state.hidden:
		f.hidden = f.hidden || strings.TrimSpace(s) != ""
	case f.state.vertical != "":
		before := ""
		if line := f.line.Bytes(); len(line) > 0 {
			before = string(line[len(line)-1:])
		}
		f.line.WriteString(shifted(s, f.state.vertical == "superscript", before))
	default:
		f.line.WriteString(s)
	}
}

// endLine ends a paragraph. Within a cell of a table it is a space.
func (f *rtfReader) endLine() {
	if f.state.skip {
		return
	}
	if len(f.cells) > 0 {
		f.line.WriteByte(' ')
		return
	}
	f.out.WriteString(strings.TrimRight(f.line.String(), " ") + "\n")
	f.line.Reset()
}

// endRow ends a row of a table.
func (f *rtfReader) endRow() {
	if len(f.cells) == 0 {
		return
	}
	f.out.WriteString(strings.TrimRight(strings.Join(f.cells, "\t"), "\t") + "\n")
	f.cells = nil
}

// beginLink begins the result of a field, whose code is read.
func (f *rtfReader) beginLink() {
	target := ""
	if words := fieldWords(f.link.String()); len(words) > 1 && strings.EqualFold(words[0], "HYPERLINK") && !strings.HasPrefix(words[1], `\`) {
		target = words[1]
	}
	f.links = append(f.links, rtfLink{depth: len(f.stack), start: f.line.Len(), target: target})
}

// endLink writes the target of a link after its text.
func (f *rtfReader) endLink() {
	l := f.links[len(f.links)-1]
	f.links = f.links[:len(f.links)-1]
	shown := string(f.line.Bytes()[min(l.start, f.line.Len()):])
	f.line.WriteString(linkSuffix(shown, l.target))
}

// openAside begins a footnote or text box within a paragraph.
func (f *rtfReader) openAside(note bool) {
	if f.state.skip {
		return
	}
	f.asides = append(f.asides, rtfAside{depth: len(f.stack), note: note, line: f.line, out: f.out, cells: f.cells})
	f.line, f.out, f.cells = &bytes.Buffer{}, &strings.Builder{}, nil
}

// closeAside ends a footnote, which is listed at the end, or a text box, which precedes its paragraph.
func (f *rtfReader) closeAside() {
	a := f.asides[len(f.asides)-1]
	f.asides = f.asides[:len(f.asides)-1]
	f.endRow()
	text := strings.TrimSpace(f.out.String() + f.line.String())
	f.line, f.out, f.cells = a.line, a.out, a.cells
	switch {
	case text == "":
	case a.note:
		f.notes = append(f.notes, mark(aNote, len(f.notes)+1)+" "+oneLine(text))
		f.line.WriteString(mark(aNote, len(f.notes)))
	default:
		f.out.WriteString(text + "\n")
	}
}

// codePages are the numbers of code pages that have other names than windows-N.
var codePages = map[int]string{932: "shift_jis", 936: "gb18030", 949: "euc-kr", 950: "big5", 866: "ibm866", 10000: "macintosh", 10007: "x-mac-cyrillic", 437: "ibm437", 850: "ibm850", 852: "ibm852", 65001: "utf-8"}
