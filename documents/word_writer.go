package documents

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// wordWriter converts the main part of a Word document, or its notes, to text. To what all formats have in common it adds
// what a Word document stores as something else than characters: labels of lists, symbols, values of form fields,
// equations, raised and lowered digits, links.
//
// Every element that stands for a character must write one or set lost, so that no text is shortened without a sign.
type wordWriter struct {
	paragraphWriter
	file    *wordFile
	targets map[string]target // relationships of the part
	run     wordRun
	fields  []wordField
	form    formField
	math    mathWriter
	check   *contentControl // innermost content control
	ruby    rubyText
	hidden  bool // hidden text was left out

	properties int // open elements that hold properties, not text
	changes    int // open elements that hold former properties
}

// paragraph is what a paragraph says about its list.
type paragraph struct {
	style, numID string
	level        int // -1 if it does not say
	start        int // of its text in the line
}

// wordRun is a run: characters with the same properties.
type wordRun struct {
	font, vertical string
	vanish         bool
	marked         bool // it has the mark of a note, which is raised only for its looks
	start          int
}

// rubyText is an annotation that gives the pronunciation above a word (ECMA-376, section 17.3.3.25).
type rubyText struct {
	start      int // of the annotation in the line
	annotation string
}

// contentControl is a structured document tag (sdt). Only a check box matters here.
type contentControl struct {
	box, checked bool
	start        int
	outer        *contentControl
}

// newWriter returns a writer for a part.
func (f *wordFile) newWriter(part string) (*wordWriter, error) {
	targets, err := f.targets(part)
	w := &wordWriter{paragraphWriter: paragraphWriter{names: docxNames}, file: f, targets: targets}
	w.block = newBlock("")
	return w, err
}

// visitor returns the callbacks for officeFile.walk.
func (w *wordWriter) visitor() xmlVisitor {
	return xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full}
}

// finish returns the text. A field whose end is missing may have hidden the rest.
func (w *wordWriter) finish() string {
	if len(w.fields) > 0 {
		w.lost = w.lost || w.fieldHides()
	}
	return w.paragraphWriter.finish()
}

// isProperties reports whether an element holds properties instead of text.
func isProperties(name string) bool {
	return name == "pPr" || name == "rPr" || name == "sectPr" || name == "tblPr"
}

// parent returns the name of an enclosing element: 0 is the innermost one.
func (w *wordWriter) parent(above int) string {
	if n := len(w.open) - 1 - above; n >= 0 {
		return w.open[n]
	}
	return ""
}

// begin handles the start of an element.
func (w *wordWriter) begin(name string, a map[string]string) {
	parent := w.parent(0)
	if strings.HasSuffix(name, "Change") {
		w.changes++
	}
	if isProperties(name) {
		w.properties++
	}
	if w.skipped == 0 {
		w.beforeElement(name, parent)
	}
	if w.skipped == 0 && w.isCharacter(name) && w.invisible() {
		w.open = append(w.open, name)
		return
	}
	w.paragraphWriter.begin(name, a)
	switch {
	case w.changes > 0:
	case w.properties > 0:
		w.property(name, parent, a)
	case w.skipped > 0:
	case w.math.depth > 0 || name == "oMath":
		w.beginMath(name, parent, a)
	default:
		w.element(name, parent, a)
	}
}

// beforeElement handles what is needed before an element is written or skipped.
func (w *wordWriter) beforeElement(name, parent string) {
	b := &w.block
	switch {
	case name == "p" && b.continued:
		b.paragraph = paragraph{level: -1, start: b.paragraph.start}
	case name == "p":
		b.paragraph = paragraph{level: -1, start: b.line.Len()}
	case name == "del" && parent == "trPr":
		b.removed = true
	}
	if name == "p" {
		b.continued = false
	}
}

// isCharacter reports whether an element stands for a character that every format has.
func (w *wordWriter) isCharacter(name string) bool {
	return slices.Contains(w.names.tab, name) || slices.Contains(w.names.lineBreak, name) || w.names.reference[name] != ""
}

// property handles an element of the properties of a paragraph or run.
func (w *wordWriter) property(name, parent string, a map[string]string) {
	p := &w.block.paragraph
	switch {
	case parent == "rPr" && w.parent(2) == "pPr": // of the mark that ends the paragraph
		if name == "del" || name == "moveFrom" {
			w.block.joined = true
		}
	case parent == "rPr" && w.parent(2) != "r": // of a content control or an equation's sign
	case name == "pStyle":
		p.style = a["val"]
	case name == "numId":
		p.numID = a["val"]
	case name == "ilvl":
		p.level = listLevel(a["val"])
	case name == "rStyle":
		w.runStyle(a["val"])
	case name == "vanish":
		w.run.vanish = isOn(a)
	case name == "vertAlign":
		w.run.vertical = a["val"]
	case name == "rFonts" && fontOf(a) != "":
		w.run.font = fontOf(a)
	}
}

// beginRun starts a run, with the properties that the style of the paragraph has.
func (w *wordWriter) beginRun() {
	w.run = wordRun{start: w.block.line.Len()}
	style := w.block.paragraph.style
	if style == "" || w.file.styles[style] == (wordStyle{}) {
		return
	}
	s, _ := inherited(w.file.styles, style, func(s wordStyle) bool { return s.vanish })
	w.run.vanish = s.vanish
	s, _ = inherited(w.file.styles, style, func(s wordStyle) bool { return s.font != "" })
	w.run.font = s.font
}

// runStyle applies a character style to the run. Its own properties come after it.
func (w *wordWriter) runStyle(id string) {
	if s, _ := inherited(w.file.styles, id, func(s wordStyle) bool { return s.vanish }); s.vanish {
		w.run.vanish = true
	}
	if s, _ := inherited(w.file.styles, id, func(s wordStyle) bool { return s.vertical != "" }); s.vertical != "" {
		w.run.vertical = s.vertical
	}
	if s, _ := inherited(w.file.styles, id, func(s wordStyle) bool { return s.font != "" }); s.font != "" {
		w.run.font = s.font
	}
}

// element handles the start of an element of the text.
func (w *wordWriter) element(name, parent string, a map[string]string) {
	switch name {
	case "r":
		w.beginRun()
	case "noBreakHyphen":
		w.character("\u2011")
	case "softHyphen":
		w.character("\u00AD")
	case "sym", "symEx": // the second one has an emoji
		w.symbol(a)
	case "pgNum", "dayShort", "dayLong", "monthShort", "monthLong", "yearShort", "yearLong", "subDoc":
		w.lost = true // only the program that shows the document knows it
	case "footnoteReference", "endnoteReference", "commentReference":
		w.run.marked = true
	case "hyperlink":
		w.beginLink(w.linkTarget(a))
	case "altChunk":
		w.chunk(a["r:id"])
	case "relIds":
		w.diagram(a["r:dm"])
	case "textpath": // WordArt
		w.putBlock(oneLine(a["string"]))
	case "gridSpan", "gridBefore":
		w.span(name, a["val"])
	case "sdt":
		w.check = &contentControl{outer: w.check, start: -1}
	case "sdtContent":
		if w.check != nil {
			w.check.start = w.block.line.Len()
		}
	case "checkbox":
		if w.check != nil && parent == "sdtPr" {
			w.check.box = true
		}
	case "checked":
		if w.check != nil && parent == "checkbox" {
			w.check.checked = isOn(a)
		}
	case "ruby":
		w.ruby = rubyText{}
	case "rt":
		w.ruby.start = w.block.line.Len()
	}
	w.fieldElement(name, a)
}

// span makes room for the further columns of the table that a cell covers, or that a row leaves out.
func (w *wordWriter) span(name, val string) {
	const maxSpan = 63 // columns of a table
	n, err := strconv.Atoi(val)
	if err != nil || w.block.rows != 1 {
		return
	}
	if n = min(n, maxSpan); name == "gridSpan" {
		w.block.blanks = n - 1
		return
	}
	for range n {
		w.block.cells = append(w.block.cells, "")
	}
}

// character writes a character that an element stands for.
func (w *wordWriter) character(s string) {
	if !w.invisible() {
		w.put(s)
	}
}

// invisible reports whether characters at this place are not shown. Hidden text is recorded.
func (w *wordWriter) invisible() bool {
	if w.run.vanish {
		w.hidden = true
		return true
	}
	return w.fieldHides()
}

// symbol writes a character of a symbol font (ECMA-376, section 17.3.3.30).
func (w *wordWriter) symbol(a map[string]string) {
	position, err := strconv.ParseUint(a["char"], 16, 32)
	shown, known := symbol(a["font"], rune(position))
	switch {
	case err != nil:
		w.lost = true
	case known:
		w.character(string(shown))
	case position >= 0x20 && position < 0xE000 || position > 0xF8FF && position <= unicode.MaxRune: // a usual font has the usual characters
		w.character(string(rune(position)))
	default:
		w.character("\uFFFD")
		w.lost = true
	}
}

// linkTarget returns the target of a hyperlink element. A link to a place in the document has an anchor only.
func (w *wordWriter) linkTarget(a map[string]string) string {
	t := w.targets[a["r:id"]]
	if !t.external {
		return ""
	}
	if a["anchor"] != "" {
		return t.part + "#" + a["anchor"]
	}
	return t.part
}

// chunk writes the text of an embedded file.
func (w *wordWriter) chunk(id string) {
	t, known := w.targets[id]
	text := ""
	if known && !t.external {
		text, known = w.file.embedded(t.part)
	}
	if !known || t.external {
		w.lost = true
	}
	w.putBlock(text)
}

// diagram writes the texts of a diagram (SmartArt), which are in a part of their own.
func (w *wordWriter) diagram(id string) {
	t, known := w.targets[id]
	if !known || t.external {
		return
	}
	inner := &paragraphWriter{names: slideNames}
	if err := w.file.write(t.part, inner); err != nil {
		w.lost = true
		return
	}
	w.putBlock(inner.finish())
}

// end handles the end of an element.
func (w *wordWriter) end(name string) {
	visible := w.skipped == 0
	switch {
	case visible && w.math.depth > 0:
		w.endMath(name)
	case visible:
		w.endElement(name)
	}
	w.paragraphWriter.end(name)
	if strings.HasSuffix(name, "Change") && w.changes > 0 {
		w.changes--
	}
	if isProperties(name) && w.properties > 0 {
		w.properties--
	}
}

// endElement handles the end of an element of the text.
func (w *wordWriter) endElement(name string) {
	switch name {
	case "r":
		w.endRun()
	case "p":
		w.endControl() // the line ends here, and with it what the control has written
		w.endParagraph()
	case "hyperlink":
		w.endLink()
	case "sdtContent":
		w.endControl()
	case "sdt":
		if w.check != nil {
			w.check = w.check.outer
		}
	case "rt":
		w.ruby.annotation = strings.TrimSpace(w.cut(w.ruby.start))
	case "ruby":
		if w.ruby.annotation != "" {
			w.put("(" + w.ruby.annotation + ")")
		}
		w.ruby = rubyText{}
	}
	w.endFieldElement(name)
}

// endParagraph writes the label of a list before the paragraph. A paragraph whose mark was deleted continues in the next
// one, whose properties it takes.
func (w *wordWriter) endParagraph() {
	b := &w.block
	if w.file == nil { // a slide
		return
	}
	if b.joined {
		b.continued = true
		return
	}
	if s, _ := inherited(w.file.styles, b.paragraph.style, func(s wordStyle) bool { return s.paragraph && s.vanish }); s.vanish {
		return
	}
	style := b.paragraph.style
	if style == "" {
		style = "Normal"
	}
	if label := w.file.numbering.label(style, b.paragraph.numID, b.paragraph.level); label != "" {
		w.insert(b.paragraph.start, label)
	}
}

// endControl writes the state of a check box that has no character for it.
func (w *wordWriter) endControl() {
	c := w.check
	if c == nil || !c.box || c.start < 0 || c.start > w.block.line.Len() {
		return
	}
	if strings.TrimSpace(string(w.block.line.Bytes()[c.start:])) == "" {
		w.put(checkMark(c.checked))
	}
	c.start = -1
}

// checkMark returns the character for a check box.
func checkMark(checked bool) string {
	if checked {
		return "☒"
	}
	return "☐"
}

// cut removes and returns what the line has after a position.
func (w *wordWriter) cut(start int) string {
	line := w.block.line
	if start >= line.Len() {
		return ""
	}
	s := string(line.Bytes()[start:])
	line.Truncate(start)
	return s
}

// endRun writes raised and lowered characters of a run as such.
func (w *wordWriter) endRun() {
	if w.run.vertical != "superscript" && w.run.vertical != "subscript" || w.run.marked || w.run.start >= w.block.line.Len() {
		return
	}
	before := ""
	if line := w.block.line.Bytes(); w.run.start > 0 {
		before = string(line[max(0, w.run.start-1):w.run.start])
	}
	s := w.cut(w.run.start)
	w.block.line.WriteString(shifted(s, w.run.vertical == "superscript", before))
}

// text adds characters, and the code of a field.
func (w *wordWriter) text(s string) {
	n := len(w.open)
	if n > 0 && w.open[n-1] == "instrText" {
		w.fieldCode(s)
		return
	}
	if n == 0 || w.skipped > 0 || !slices.Contains(w.names.text, w.open[n-1]) {
		return
	}
	s = symbolText(w.run.font, s)
	if w.invisible() {
		if fields := len(w.fields); fields > 0 && w.fields[fields-1].inResult {
			w.resultInCode(s)
		}
		return
	}
	w.paragraphWriter.text(s)
}
