package documents

import (
	"strconv"
	"strings"
)

// slideWriter converts a slide to text. Runs are as in a Word document, with other names: a raised character has a
// baseline above zero, a link is a property of the run, and equations are Office Math, too.
type slideWriter struct {
	wordWriter
	link bool // the run is a link
	list slideList
}

// slideList numbers the paragraphs of a text box. Unlike a Word document, a slide says for each paragraph how it is
// numbered; those of one level that follow one another count on.
type slideList struct {
	level, start int
	format       string // of the paragraph, such as arabicPeriod; "" without a number
	counts       [listLevels]int
	formats      [listLevels]string
}

// label counts a paragraph and returns its label, or "".
func (l *slideList) label() string {
	for below := l.level + 1; below < listLevels; below++ {
		l.counts[below] = 0
	}
	if l.format == "" || l.formats[l.level] != l.format {
		l.counts[l.level] = 0
	}
	l.formats[l.level] = l.format
	if l.format == "" {
		return ""
	}
	if l.counts[l.level] == 0 {
		l.counts[l.level] = l.start - 1
	}
	l.counts[l.level]++
	number := strconv.Itoa(l.counts[l.level])
	for prefix, format := range map[string]string{"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman", "circleNum": "decimalEnclosedCircle", "ea1": "chineseCounting", "thaiAlpha": "thaiLetters", "thaiNum": "thaiNumbers", "hindiNum": "hindiNumbers"} {
		if strings.HasPrefix(l.format, prefix) {
			number = formatNumber(l.counts[l.level], format)
		}
	}
	switch {
	case strings.HasSuffix(l.format, "Period"):
		number += "."
	case strings.HasSuffix(l.format, "ParenBoth"):
		number = "(" + number + ")"
	case strings.HasSuffix(l.format, "ParenR"):
		number += ")"
	}
	return number + " "
}

// newSlideWriter returns a writer for a slide with the targets of its relationships.
func newSlideWriter(targets map[string]target) *slideWriter {
	w := &slideWriter{wordWriter: wordWriter{paragraphWriter: paragraphWriter{names: slideNames}, targets: targets}}
	w.block = newBlock("")
	return w
}

// visitor returns the callbacks for officeFile.walk.
func (w *slideWriter) visitor() xmlVisitor {
	return xmlVisitor{begin: w.begin, end: w.end, text: w.text, enough: w.full}
}

// begin handles the start of an element.
func (w *slideWriter) begin(name string, a map[string]string) {
	parent := w.parent(0)
	w.paragraphWriter.begin(name, a)
	switch {
	case w.skipped > 0:
	case w.math.depth > 0 || name == "oMath":
		w.beginMath(name, parent, a)
	case name == "txBody":
		w.list = slideList{}
	case name == "p":
		w.block.paragraph.start = w.block.line.Len()
		w.list.level, w.list.format, w.list.start = 0, "", 1
	case name == "pPr" && parent == "p":
		w.list.level = listLevel(a["lvl"])
	case name == "buAutoNum" && parent == "pPr":
		w.list.format = a["type"]
		if start, err := strconv.Atoi(a["startAt"]); err == nil {
			w.list.start = start
		}
	case name == "r":
		w.run, w.link = wordRun{start: w.block.line.Len()}, false
	case name == "rPr" && parent == "r":
		if n, err := strconv.Atoi(a["baseline"]); err == nil && n > 0 {
			w.run.vertical = "superscript"
		} else if err == nil && n < 0 {
			w.run.vertical = "subscript"
		}
	case name == "hlinkClick" && parent == "rPr":
		if t := w.targets[a["r:id"]]; t.external {
			w.beginLink(t.part)
			w.link = true
		}
	case name == "sym" && parent == "rPr":
		w.run.font = a["typeface"]
	}
}

// end handles the end of an element.
func (w *slideWriter) end(name string) {
	if w.skipped == 0 {
		switch {
		case w.math.depth > 0:
			w.endMath(name)
		case name == "r":
			w.endRun()
			if w.link {
				w.endLink()
			}
			w.link = false
		case name == "p":
			if label := w.list.label(); label != "" && w.block.line.Len() > w.block.paragraph.start {
				w.insert(w.block.paragraph.start, label)
			}
		}
	}
	w.paragraphWriter.end(name)
}
