package documents

import (
	"fmt"
	"slices"
	"strings"
)

// paragraphNames are the elements of a format that make up text. The three formats
// differ in names more than in structure, so one writer serves all of them.
type paragraphNames struct {
	paragraph, text []string // elements that form a line; elements that contain characters
	row, cell       string
	tab, lineBreak  []string
	skip            []string          // elements without visible text, such as deleted words
	spaces          string            // element that stands for repeated spaces
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
// text; Fallback repeats a text box
// for programs that do not know the newer form (ECMA-376, part 3). In OpenDocument,
// tracked-changes holds deleted text. On slides, fld is a computed field, such as
// the slide number.
var (
	docxNames = paragraphNames{paragraph: []string{"p"}, text: []string{"t"}, row: "tr", cell: "tc",
		tab: []string{"tab"}, lineBreak: []string{"br", "cr"}, skip: []string{"pPr", "rPr", "Fallback", "del", "moveFrom"},
		aside:     map[string]string{"txbxContent": aBox},
		reference: map[string]string{"footnoteReference": aNote, "endnoteReference": aNote, "commentReference": aComment}}
	odtNames = paragraphNames{paragraph: []string{"p", "h"}, text: []string{"p", "h", "span", "a"}, row: "table-row", cell: "table-cell",
		tab: []string{"tab"}, lineBreak: []string{"line-break"}, skip: []string{"tracked-changes"}, spaces: "s",
		aside: map[string]string{"text-box": aBox, "note-body": aNote, "annotation": aComment}}
	slideNames = paragraphNames{paragraph: []string{"p"}, text: []string{"t"}, row: "tr", cell: "tc", lineBreak: []string{"br"}, skip: []string{"fld"}}
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
}

// block is a text being written: that of the part, or of an aside in it.
type block struct {
	kind   string // of an aside
	out    *strings.Builder
	line   *strings.Builder
	cells  []string
	rows   int // number of enclosing table rows
	author string
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
	return block{kind: kind, out: &strings.Builder{}, line: &strings.Builder{}}
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
		w.block.line.WriteByte(' ')
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
	w.block.line.WriteString(mark(n.kind, w.marks[n.kind]))
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
	case slices.Contains(w.names.paragraph, name) && b.rows == 0:
		b.out.WriteString(strings.TrimRight(b.line.String(), " ") + "\n")
		b.line.Reset()
	case slices.Contains(w.names.paragraph, name):
		b.line.WriteByte(' ') // all paragraphs of a cell are on one line
	case name == w.names.cell && b.rows == 1:
		b.cells = append(b.cells, oneLine(b.line.String()))
		b.line.Reset()
	case name == w.names.row:
		if b.rows--; b.rows == 0 {
			b.out.WriteString(strings.TrimRight(strings.Join(b.cells, "\t"), "\t") + "\n")
			b.cells = nil
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
	case w.block.rows > 0:
		w.block.line.WriteString(oneLine(text) + " ")
	default:
		w.block.out.WriteString(text + "\n")
	}
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
		w.size += len(s)
		w.block.line.WriteString(s)
	case w.open[n-1] == "creator" && w.block.kind == aComment:
		w.block.author += strings.TrimSpace(s)
	}
}

// oneLine replaces each run of white space, line breaks included, by a space.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// openText reads an OpenDocument text.
func (f *officeFile) openText() (text string, truncated bool, err error) {
	w := &paragraphWriter{names: odtNames}
	err = f.write("content.xml", w)
	return w.finish(), w.full(), err
}

// wordText reads a Word document, whose notes and comments are in other parts.
func (f *officeFile) wordText() (text string, truncated bool, err error) {
	w := &paragraphWriter{names: docxNames}
	if err := f.write("word/document.xml", w); err != nil {
		return "", false, err
	}
	for _, from := range []struct{ part, element, reference string }{
		{"word/footnotes.xml", "footnote", "footnoteReference"},
		{"word/endnotes.xml", "endnote", "endnoteReference"},
		{"word/comments.xml", "comment", "commentReference"},
	} {
		if !slices.ContainsFunc(w.notes, func(n note) bool { return n.element == from.reference }) {
			continue
		}
		texts, err := f.noteTexts(from.part, from.element)
		if err != nil {
			return "", false, err
		}
		for i, n := range w.notes {
			if n.element == from.reference {
				w.notes[i].text = texts[n.id]
				w.size += len(texts[n.id])
			}
		}
	}
	return w.finish(), w.full(), nil
}

// noteTexts returns the texts of notes or comments by their IDs.
func (f *officeFile) noteTexts(part, element string) (map[string]string, error) {
	texts := map[string]string{}
	w := &paragraphWriter{names: docxNames, block: newBlock("")}
	var id, author string
	err := f.walk(part, xmlVisitor{text: w.text, enough: w.full,
		begin: func(name string, attributes map[string]string) {
			if name == element {
				id, author, w.block = attributes["id"], attributes["author"], newBlock("")
			}
			w.begin(name, attributes)
		},
		end: func(name string) {
			w.end(name)
			if name != element {
				return
			}
			texts[id] = oneLine(w.block.out.String())
			if author != "" {
				texts[id] = author + ": " + texts[id]
			}
		}})
	return texts, err
}
