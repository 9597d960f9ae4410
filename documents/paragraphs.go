package documents

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// paragraphNames are the elements of a format that make up text. The three formats
// differ in names more than in structure, so one writer serves all of them.
type paragraphNames struct {
	paragraph, text []string // elements that form a line; elements that contain characters
	row, cell       string
	tab, lineBreak  []string
	skip            []string          // elements without visible text, such as deleted words
	spaces          string            // element that stands for repeated spaces, whose number is its attribute c
	link            string            // element of a link, whose target is its attribute href
	picture         []string          // elements that show a picture or another object
	aside           map[string]string // elements with text outside the main text: boxes, notes and comments
	reference       map[string]string // elements that refer to a note or comment in another part
}

// Kinds of asides. Notes and comments get a number at their position and are listed at the
// end; the text of a box comes before the paragraph that contains it.
const (
	aBox     = "box"
	aNote    = "note"
	aComment = "comment"
)

// Reasons for the skipped elements: in Word, pPr and rPr are properties, whose tab elements
// define tab stops and are not characters; del and moveFrom are tracked changes that removed
// text; Fallback repeats a text box for programs that do not know the newer form (ECMA-376,
// part 3). In OpenDocument, tracked-changes holds deleted text. On slides, fld is a computed
// field, such as the slide number.
var (
	docxNames = paragraphNames{paragraph: []string{"p"}, text: []string{"t"}, row: "tr", cell: "tc",
		tab: []string{"tab", "ptab"}, lineBreak: []string{"br", "cr"},
		skip:      []string{"pPr", "rPr", "Fallback", "del", "moveFrom", "sectPr", "tblPr", "tblGrid", "instrText"},
		picture:   []string{"drawing", "pict", "object", "contentPart"},
		aside:     map[string]string{"txbxContent": aBox},
		reference: map[string]string{"footnoteReference": aNote, "endnoteReference": aNote, "commentReference": aComment}}
	odtNames = paragraphNames{paragraph: []string{"p", "h"}, text: []string{"p", "h", "span", "a"}, row: "table-row", cell: "table-cell",
		tab: []string{"tab"}, lineBreak: []string{"line-break"}, skip: []string{"tracked-changes"}, spaces: "s", link: "a", picture: []string{"image", "object"},
		aside: map[string]string{"text-box": aBox, "note-body": aNote, "annotation": aComment}}
	slideNames = paragraphNames{paragraph: []string{"p"}, text: []string{"t"}, row: "tr", cell: "tc", lineBreak: []string{"br"}, skip: []string{"fld", "Fallback"},
		picture: []string{"pic", "graphicFrame"}}
)

// paragraphWriter converts a part to lines of text. A table row is one line, with its cells
// separated by tabs.
type paragraphWriter struct {
	names   paragraphNames
	block   block
	around  []block  // enclosing blocks of an aside
	open    []string // enclosing elements
	skipped int      // number of skipped elements in open
	size    int      // bytes of text so far
	notes   []note
	marks   map[string]int // number of marks so far by kind of aside
	links   []openLink

	pictures int  // number of pictures and other objects
	lost     bool // a character could not be read
}

// openLink is a link whose text is being written.
type openLink struct {
	target string
	start  int // of its text in the line
}

// block is a text being written: that of the part, or of an aside in it.
type block struct {
	kind   string // of an aside
	out    *strings.Builder
	line   *bytes.Buffer
	cells  []string
	rows   int // number of enclosing table rows
	author string

	paragraph paragraph // of a Word document
	joined    bool      // the line continues in the next paragraph, since the end of this one was deleted
	continued bool      // the line began in the paragraph before
	blanks    int       // further columns of the table that the cell covers
	removed   bool      // the row was deleted by a tracked change
}

// note is a note or a comment.
type note struct {
	kind, text string
	element    string // refers to it, if it is in another part
	id         string
}

// write converts a part, until it ends or the text is full.
func (f *officeFile) write(part string, w *paragraphWriter) error {
	w.block = newBlock("")
	return f.walk(part, xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full})
}

// newBlock starts a block. kind is the kind of the aside, or "" for the part.
func newBlock(kind string) block {
	return block{kind: kind, out: &strings.Builder{}, line: &bytes.Buffer{}}
}

// full reports whether the text exceeds MaxText. Parsing then stops and the text is
// truncated.
func (w *paragraphWriter) full() bool { return w.size > MaxText }

// finish returns the text, followed by the notes and comments.
func (w *paragraphWriter) finish() string {
	for len(w.around) > 0 {
		w.closeAside()
	}
	w.block.out.WriteString(w.block.line.String()) // the unfinished line of a truncated text
	text := strings.TrimSpace(w.block.out.String())
	if w.full() {
		return text
	}
	for _, list := range []struct{ kind, title string }{{aNote, "Notes:"}, {aComment, "Comments:"}} {
		lines := []string{}
		for _, n := range w.notes {
			if n.kind == list.kind {
				lines = append(lines, mark(n.kind, len(lines)+1)+" "+n.text)
			}
		}
		if len(lines) > 0 {
			text += "\n\n" + list.title + "\n" + strings.Join(lines, "\n")
		}
	}
	return strings.TrimSpace(text)
}

// mark returns the mark in the text for a note or comment.
func mark(kind string, number int) string {
	if kind == aNote {
		return fmt.Sprintf("[%d]", number)
	}
	return fmt.Sprintf("[%s %d]", kind, number)
}

// begin handles the start of an element.
func (w *paragraphWriter) begin(name string, attributes map[string]string) {
	w.open = append(w.open, name)
	if w.skipped == 0 && slices.Contains(w.names.picture, name) {
		w.pictures++
	}
	switch kind, isAside := w.names.aside[name]; {
	case slices.Contains(w.names.skip, name):
		w.skipped++
	case w.skipped > 0:
	case isAside:
		w.around, w.block = append(w.around, w.block), newBlock(kind)
	case name == w.names.row:
		w.block.rows++
	case slices.Contains(w.names.tab, name):
		w.block.line.WriteByte('\t')
	case slices.Contains(w.names.lineBreak, name):
		w.lineBreak()
	case name == w.names.spaces:
		n, err := strconv.Atoi(attributes["c"])
		if err != nil || n < 1 {
			n = 1
		}
		w.put(strings.Repeat(" ", min(n, maxSpaces)))
	case name == w.names.link && w.names.link != "":
		w.beginLink(attributes["href"])
	case w.names.reference[name] != "":
		w.addNote(note{kind: w.names.reference[name], element: name, id: attributes["id"]})
	}
}

// addNote writes the mark of a note.
func (w *paragraphWriter) addNote(n note) {
	if w.marks == nil {
		w.marks = map[string]int{}
	}
	w.marks[n.kind]++
	w.notes = append(w.notes, n)
	w.put(mark(n.kind, w.marks[n.kind]))
}

// maxSpaces bounds the spaces that one element stands for.
const maxSpaces = 1000

// put adds characters to the line.
func (w *paragraphWriter) put(s string) {
	w.size += len(s)
	w.block.line.WriteString(s)
}

// insert adds characters at a position of the line, or at its end if the line is shorter.
func (w *paragraphWriter) insert(at int, s string) {
	w.size += len(s)
	line := w.block.line
	rest := slices.Clone(line.Bytes()[min(at, line.Len()):])
	line.Truncate(line.Len() - len(rest))
	line.WriteString(s)
	line.Write(rest)
}

// beginLink starts the text of a link. An empty target, such as of a link within the document, adds nothing.
func (w *paragraphWriter) beginLink(target string) {
	w.links = append(w.links, openLink{target: target, start: w.block.line.Len()})
}

// endLink writes the target of the last link after its text, unless the text shows it.
func (w *paragraphWriter) endLink() {
	if len(w.links) == 0 {
		return
	}
	l := w.links[len(w.links)-1]
	w.links = w.links[:len(w.links)-1]
	line := w.block.line
	shown := string(line.Bytes()[min(l.start, line.Len()):])
	line.Truncate(line.Len() - trailingSpaces(shown))
	w.put(linkSuffix(shown, l.target) + shown[len(shown)-trailingSpaces(shown):])
}

// trailingSpaces returns the number of spaces at the end of a text.
func trailingSpaces(s string) int { return len(s) - len(strings.TrimRight(s, " ")) }

// linkSuffix returns what is written after the text of a link: its target in parentheses, unless the text shows it. A
// link within the document has no target.
func linkSuffix(shown, target string) string {
	target = strings.TrimSpace(target)
	_, plain, hasScheme := strings.Cut(target, ":")
	plain = strings.Trim(plain, "/")
	switch {
	case target == "" || strings.HasPrefix(target, "#"):
		return ""
	case strings.Contains(shown, target) || hasScheme && plain != "" && strings.Contains(shown, plain):
		return ""
	case strings.TrimSpace(shown) == "":
		return target
	}
	return " (" + target + ")"
}

// lineBreak writes a manual line break: a space in a table, where a line is a row.
func (w *paragraphWriter) lineBreak() {
	if w.block.rows > 0 {
		w.block.line.WriteByte(' ')
		return
	}
	w.block.line.WriteByte('\n')
}

// end handles the end of an element. Only the outermost of nested tables has rows and cells;
// the others are text of the cell that contains them.
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
	b := &w.block
	switch {
	case w.names.aside[name] != "" && len(w.around) > 0:
		w.closeAside()
	case name == w.names.link && w.names.link != "":
		w.endLink()
	case slices.Contains(w.names.paragraph, name) && b.joined:
		b.joined = false
	case slices.Contains(w.names.paragraph, name) && b.rows == 0:
		b.out.WriteString(strings.TrimRight(b.line.String(), " ") + "\n")
		b.line.Reset()
	case slices.Contains(w.names.paragraph, name):
		b.line.WriteByte(' ') // all paragraphs of a cell are on one line
	case name == w.names.cell && b.rows == 1:
		b.cells = append(b.cells, oneLine(b.line.String()))
		for ; b.blanks > 0; b.blanks-- {
			b.cells = append(b.cells, "")
		}
		b.line.Reset()
	case name == w.names.row:
		if b.rows--; b.rows == 0 {
			if line := strings.TrimRight(strings.Join(b.cells, "\t"), "\t"); line != "" || !b.removed {
				b.out.WriteString(line + "\n")
			}
			b.cells, b.removed = nil, false
		}
	}
}

// closeAside adds a finished aside to the enclosing block.
func (w *paragraphWriter) closeAside() {
	b := w.block
	w.block, w.around = w.around[len(w.around)-1], w.around[:len(w.around)-1]
	text := strings.TrimSpace(b.out.String() + b.line.String())
	switch {
	case text == "":
	case b.kind != aBox:
		if b.author != "" {
			text = b.author + ": " + text
		}
		w.addNote(note{kind: b.kind, text: oneLine(text)})
	default:
		w.addBlock(text)
	}
}

// addBlock writes a text that is counted already before the current paragraph.
func (w *paragraphWriter) addBlock(text string) {
	switch {
	case text == "":
	case w.block.rows > 0:
		w.block.line.WriteString(oneLine(text) + " ")
	default:
		w.block.out.WriteString(text + "\n")
	}
}

// putBlock writes a text before the current paragraph, as that of a text box.
func (w *paragraphWriter) putBlock(text string) {
	w.size += len(text)
	w.addBlock(text)
}

// text adds characters if the innermost element contains text, because XML has white space
// between elements. The creator of an OpenDocument comment is its author.
func (w *paragraphWriter) text(s string) {
	n := len(w.open)
	if n == 0 || w.skipped > 0 {
		return
	}
	switch {
	case slices.Contains(w.names.text, w.open[n-1]):
		w.put(s)
	case w.open[n-1] == "creator" && w.block.kind == aComment:
		w.block.author += strings.TrimSpace(s)
	}
}

// oneLine replaces each run of spaces, tabs and line breaks by a space. Other white space stays: a no-break space is a
// character of its own.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) }), " ")
}
