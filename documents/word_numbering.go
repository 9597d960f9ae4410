package documents

import (
	"sluice/flow/wording"
	"strconv"
	"strings"
)

// listLevels is the number of levels that a list can have.
const listLevels = 9

// numbering computes the labels of lists, which a Word document does not store: each paragraph only refers to a list and a
// level, and the program counts (ECMA-376, section 17.9). A list (num) is an instance of a definition (abstractNum). All
// instances of one definition count together, unless one of them starts again (startOverride).
type numbering struct {
	lists       map[string]*list
	definitions map[string]*listDefinition
	styles      map[string]wordStyle
}

// list is an instance of a definition.
type list struct {
	definition string
	starts     map[int]int           // levels that start again when the list is first used
	levels     map[int]listLevelSpec // levels that differ from the definition
	used       bool
}

// listDefinition is a definition and the state of its counters.
type listDefinition struct {
	levels    [listLevels]listLevelSpec
	styleLink string // the definition is that of the list that this style refers to
	counts    [listLevels]int
	counted   [listLevels]bool
}

// listLevelSpec is how a level is numbered.
type listLevelSpec struct {
	start          int
	format, text   string // the text has %1 for the number of level 1
	style          string // paragraphs of this style have this level
	font, suffix   string
	restart        int // level after which the counter starts again, counted from 1; 0 is never, -1 the default
	legal, defined bool
}

// wordNumbering reads the lists of a document.
func (f *officeFile) wordNumbering(part string, styles map[string]wordStyle) (*numbering, error) {
	n := &numbering{lists: map[string]*list{}, definitions: map[string]*listDefinition{}, styles: styles}
	r := &numberingReader{numbering: n}
	err := f.walk(part, xmlVisitor{begin: r.begin, end: r.end})
	return n, err
}

// numberingReader reads the part with the lists.
type numberingReader struct {
	*numbering
	definition *listDefinition
	list       *list
	level      int // being read; -1 outside
	spec       listLevelSpec
	fallback   bool // repeats what precedes it for older programs
}

// begin handles the start of an element.
func (r *numberingReader) begin(name string, a map[string]string) {
	if r.fallback = r.fallback || name == "Fallback"; r.fallback {
		return
	}
	switch name {
	case "abstractNum":
		r.definition, r.list, r.level = &listDefinition{}, nil, -1
		r.definitions[a["abstractNumId"]] = r.definition
	case "num":
		r.definition, r.list, r.level = nil, &list{starts: map[int]int{}, levels: map[int]listLevelSpec{}}, -1
		r.lists[a["numId"]] = r.list
	case "abstractNumId":
		if r.list != nil {
			r.list.definition = a["val"]
		}
	case "numStyleLink":
		if r.definition != nil {
			r.definition.styleLink = a["val"]
		}
	case "lvlOverride":
		r.level = listLevel(a["ilvl"])
	case "startOverride":
		if r.list != nil && r.level >= 0 {
			r.list.starts[r.level], _ = strconv.Atoi(a["val"])
		}
	case "lvl":
		r.level, r.spec = listLevel(a["ilvl"]), listLevelSpec{format: "decimal", restart: -1, defined: true}
	default:
		r.levelProperty(name, a)
	}
}

// levelProperty reads an element of a level.
func (r *numberingReader) levelProperty(name string, a map[string]string) {
	switch name {
	case "start":
		r.spec.start, _ = strconv.Atoi(a["val"]) // 0 if it is invalid
	case "numFmt":
		if r.spec.format = a["val"]; r.spec.format == "custom" { // such as "001, 002, 003, ..."
			first, _, _ := strings.Cut(a["format"], ",")
			r.spec.format = customFormat + wording.CutBytes(strings.TrimSpace(first), maxLabel)
		}
	case "lvlText":
		r.spec.text = wording.CutBytes(a["val"], maxLabel)
	case "lvlRestart":
		r.spec.restart, _ = strconv.Atoi(a["val"])
	case "pStyle":
		r.spec.style = a["val"]
	case "isLgl":
		r.spec.legal = isOn(a)
	case "suff":
		r.spec.suffix = a["val"]
	case "rFonts":
		r.spec.font = fontOf(a)
	}
}

// end handles the end of an element.
func (r *numberingReader) end(name string) {
	if name == "Fallback" {
		r.fallback = false
	}
	if name != "lvl" || r.level < 0 {
		return
	}
	switch {
	case r.definition != nil:
		r.definition.levels[r.level] = r.spec
	case r.list != nil:
		r.list.levels[r.level] = r.spec
	}
}

// maxLabel bounds the text of a label in bytes.
const maxLabel = 256

// label counts a paragraph and returns its label, with the space after it, or "" for a paragraph without one. numID and
// level are those of the paragraph; numID is "" and level -1 if it does not say, so that its style decides.
func (n *numbering) label(style, numID string, level int) string {
	if numID == "" {
		s, id := inherited(n.styles, style, func(s wordStyle) bool { return s.numID != "" })
		numID = s.numID
		if level < 0 {
			level = n.styleLevel(numID, id, s.level)
		}
	}
	l, known := n.lists[numID]
	if !known || numID == "0" { // 0 removes the list of the style
		return ""
	}
	d := n.definitionOf(l)
	if d == nil {
		return ""
	}
	level = max(level, 0)
	n.count(l, d, level)
	spec := l.spec(d, level)
	text := l.text(d, spec)
	switch {
	case text == "":
		return ""
	case spec.suffix == "nothing":
		return text
	}
	return text + " "
}

// styleLevel returns the level that a list has for paragraphs of a style.
func (n *numbering) styleLevel(numID, style string, otherwise int) int {
	if l := n.lists[numID]; l != nil {
		if d := n.definitionOf(l); d != nil {
			for i := range listLevels {
				if s := l.spec(d, i); s.style == style && style != "" {
					return i
				}
			}
		}
	}
	return otherwise
}

// definitionOf returns the definition of a list, which a style may name.
func (n *numbering) definitionOf(l *list) *listDefinition {
	d := n.definitions[l.definition]
	for range maxStyleChain {
		if d == nil || d.styleLink == "" {
			return d
		}
		next := n.lists[n.styles[d.styleLink].numID]
		if next == nil || n.definitions[next.definition] == d {
			return d
		}
		d = n.definitions[next.definition]
	}
	return d
}

// spec returns how a level of the list is numbered.
func (l *list) spec(d *listDefinition, level int) listLevelSpec {
	if s, differs := l.levels[level]; differs {
		return s
	}
	return d.levels[level]
}

// count counts a paragraph of a level. Deeper levels start again, unless they say otherwise.
func (n *numbering) count(l *list, d *listDefinition, level int) {
	if !l.used {
		l.used = true
		for at, start := range l.starts {
			d.counts[at], d.counted[at] = start-1, true
		}
	}
	for above := range level { // a level that was left out counts as if its first paragraph were there
		if !d.counted[above] {
			d.counts[above], d.counted[above] = l.start(d, above), true
		}
	}
	if !d.counted[level] {
		d.counts[level], d.counted[level] = l.start(d, level)-1, true
	}
	d.counts[level]++
	for below := level + 1; below < listLevels; below++ {
		if r := l.spec(d, below).restart; r < 0 || r > 0 && level < r {
			d.counted[below] = false
		}
	}
}

// start returns the first number of a level.
func (l *list) start(d *listDefinition, level int) int {
	if s, again := l.starts[level]; again {
		return s
	}
	return l.spec(d, level).start
}

// text returns the label of the last counted paragraph. A level without a definition has no label.
func (l *list) text(d *listDefinition, spec listLevelSpec) string {
	if !spec.defined {
		return ""
	}
	if spec.format == "bullet" {
		return bullet(spec.font, spec.text)
	}
	var b strings.Builder
	for i := 0; i < len(spec.text); i++ {
		c := spec.text[i]
		if c != '%' || i+1 == len(spec.text) || spec.text[i+1] < '1' || spec.text[i+1] > '9' {
			b.WriteByte(c)
			continue
		}
		i++
		at := int(spec.text[i] - '1')
		format := l.spec(d, at).format
		if spec.legal {
			format = "decimal"
		}
		if format != "none" {
			b.WriteString(formatNumber(d.counts[at], format))
		}
	}
	return b.String()
}

// bullet returns the character of a bullet, whose font is usually a symbol font.
func bullet(font, text string) string {
	shown := symbolText(font, text)
	return strings.Map(func(r rune) rune {
		if r >= 0xF000 && r <= 0xF0FF { // of an unknown symbol font
			return '•'
		}
		return r
	}, shown)
}
