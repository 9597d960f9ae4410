package documents

import (
	"path"
	"sluice/flow/wording"
	"strconv"
	"strings"
)

// openWriter converts an OpenDocument text (ODF 1.2, part 1). To what all formats have in common it adds the labels of
// lists and the formulas, which are objects of their own.
type openWriter struct {
	paragraphWriter
	file   *officeFile
	styles map[string]*openList
	lists  []openListState // open lists, the innermost is last
	counts map[string]int  // the last number of a list style at a level, for lists that continue
	label  string          // of the item, before its first paragraph
	start  int             // of the paragraph in the line
}

// openList is a list style: how each level is labeled.
type openList struct {
	levels [listLevels + 1]openLevel // by level, counted from 1
}

// openLevel is a level of a list style (ODF 1.2, part 1, section 16.31).
type openLevel struct {
	format, prefix, suffix string
	bullet                 string
	display, start         int
}

// openListState is an open list.
type openListState struct {
	style  string
	count  int
	counts []int // of the lists around
}

// openText reads an OpenDocument text.
func (f *officeFile) openText(out *Document) error {
	styles := map[string]*openList{}
	for _, part := range []string{"styles.xml", "content.xml"} {
		if err := f.openListStyles(part, styles); err != nil {
			return err
		}
	}
	w := &openWriter{paragraphWriter: paragraphWriter{names: odtNames}, file: f, styles: styles, counts: map[string]int{}}
	w.block = newBlock("")
	err := f.walk("content.xml", xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full})
	out.Text, out.Truncated, out.pictures = w.finish(), w.full() || w.lost, w.pictures
	return err
}

// openListStyles adds the list styles of a part.
func (f *officeFile) openListStyles(part string, styles map[string]*openList) error {
	var list *openList
	return f.walk(part, xmlVisitor{begin: func(name string, a map[string]string) {
		switch name {
		case "list-style":
			list = &openList{}
			styles[a["name"]] = list
		case "list-level-style-number", "list-level-style-bullet":
			level, err := strconv.Atoi(a["level"])
			if list == nil || err != nil || level < 1 || level > listLevels {
				return
			}
			l := openLevel{format: a["num-format"], prefix: wording.CutBytes(a["num-prefix"], maxLabel), suffix: wording.CutBytes(a["num-suffix"], maxLabel), bullet: wording.CutBytes(a["bullet-char"], maxLabel), display: 1, start: 1}
			if n, err := strconv.Atoi(a["display-levels"]); err == nil {
				l.display = n
			}
			if n, err := strconv.Atoi(a["start-value"]); err == nil {
				l.start = n
			}
			list.levels[level] = l
		}
	}})
}

// begin handles the start of an element.
func (w *openWriter) begin(name string, a map[string]string) {
	w.paragraphWriter.begin(name, a)
	if w.skipped > 0 {
		return
	}
	switch name {
	case "list":
		w.beginList(a)
	case "list-item":
		w.beginItem(a)
	case "p", "h":
		w.start = w.block.line.Len()
	case "object":
		w.formula(a["href"])
	}
}

// beginList begins a list. A list without a style has that of the list around it.
func (w *openWriter) beginList(a map[string]string) {
	s := openListState{style: a["style-name"]}
	if n := len(w.lists); n > 0 {
		outer := w.lists[n-1]
		if s.style == "" {
			s.style = outer.style
		}
		s.counts = append(append([]int{}, outer.counts...), outer.count)
	}
	if len(s.counts) >= listLevels {
		s.counts = s.counts[:listLevels-1]
	}
	level := len(s.counts) + 1
	s.count = w.level(s.style, level).start - 1
	if a["continue-numbering"] == "true" || a["continue-list"] != "" {
		if last, counted := w.counts[s.style+" "+strconv.Itoa(level)]; counted {
			s.count = last
		}
	}
	w.lists = append(w.lists, s)
}

// level returns a level of a list style.
func (w *openWriter) level(style string, level int) openLevel {
	if l := w.styles[style]; l != nil {
		return l.levels[level]
	}
	return openLevel{}
}

// beginItem counts an item, whose label is written before its first paragraph.
func (w *openWriter) beginItem(a map[string]string) {
	if len(w.lists) == 0 {
		return
	}
	s := &w.lists[len(w.lists)-1]
	level := len(s.counts) + 1
	l := w.level(s.style, level)
	if n, err := strconv.Atoi(a["start-value"]); err == nil {
		s.count = n - 1
	}
	s.count++
	w.counts[s.style+" "+strconv.Itoa(level)] = s.count
	switch {
	case l.bullet != "":
		w.label = bullet("", l.bullet) + " "
	case l.format == "":
		w.label = ""
	default:
		numbers := []string{}
		all := append(append([]int{}, s.counts...), s.count)
		for i := max(0, level-max(l.display, 1)); i < level; i++ {
			if at := w.level(s.style, i+1); at.format != "" {
				numbers = append(numbers, formatNumber(all[i], listFormats[at.format]))
			}
		}
		w.label = l.prefix + strings.Join(numbers, ".") + l.suffix + " "
	}
}

// formula writes the source of a formula: the format of LibreOffice, which is text such as "{1} over {2}". A formula of
// another program is lost.
func (w *openWriter) formula(href string) {
	part := path.Join(strings.TrimPrefix(href, "./"), "content.xml")
	if href == "" || w.file.parts[part] == nil || w.file.rootElement(part) != "math" {
		return
	}
	text, err := w.file.elementText(part, "annotation")
	if text = oneLine(text); err != nil || text == "" {
		w.lost = true
	}
	w.put(text)
}

// end handles the end of an element.
func (w *openWriter) end(name string) {
	if w.skipped == 0 {
		switch name {
		case "list":
			w.lists = w.lists[:max(0, len(w.lists)-1)]
		case "list-item":
			w.label = ""
		case "p", "h":
			if w.label != "" {
				w.insert(w.start, w.label)
				w.label = ""
			}
		}
	}
	w.paragraphWriter.end(name)
}
