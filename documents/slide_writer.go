package documents

import "strconv"

// slideWriter converts a slide to text. Runs are as in a Word document, with other names: a raised character has a
// baseline above zero, a link is a property of the run, and equations are Office Math, too.
type slideWriter struct {
	wordWriter
	runTargets map[string]target
	link       bool // the run is a link
}

// newSlideWriter returns a writer for a slide with the targets of its relationships.
func newSlideWriter(targets map[string]target) *slideWriter {
	w := &slideWriter{wordWriter: wordWriter{paragraphWriter: paragraphWriter{names: slideNames}}, runTargets: targets}
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
	case name == "r":
		w.run, w.link = wordRun{start: w.block.line.Len()}, false
	case name == "rPr" && parent == "r":
		if n, err := strconv.Atoi(a["baseline"]); err == nil && n > 0 {
			w.run.vertical = "superscript"
		} else if err == nil && n < 0 {
			w.run.vertical = "subscript"
		}
	case name == "hlinkClick" && parent == "rPr":
		if t := w.runTargets[a["r:id"]]; t.external {
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
		}
	}
	w.paragraphWriter.end(name)
}
