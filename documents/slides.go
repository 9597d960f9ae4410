package documents

import (
	"path"
	"strings"
)

// readSlides reads the text of each slide and its speaker notes, in the order of the list in
// presentation.xml. Part names such as slide3.xml need not follow that order.
func (r *reading) readSlides(f *officeFile, out *Document) error {
	slides, err := f.related("ppt/presentation.xml", "sldId")
	if err != nil {
		return err
	}
	numbers, truncated, err := r.choosePages(len(slides), "slide")
	if err != nil {
		return err
	}
	out.Pages, out.Truncated = len(slides), truncated
	var texts pageTexts
	for _, n := range numbers {
		text, cut, err := f.slideText(slides[n-1].part)
		if err != nil {
			return err
		}
		out.Truncated = out.Truncated || cut
		if texts.add(text); texts.full() {
			break
		}
	}
	out.Text, out.Truncated = texts.String(), out.Truncated || texts.full()
	return nil
}

// slideText returns the text of a slide, with its speaker notes under "Notes:".
func (f *officeFile) slideText(part string) (text string, truncated bool, err error) {
	w := &paragraphWriter{names: slideNames}
	if err := f.write(part, w); err != nil {
		return "", false, err
	}
	text = w.finish()
	targets, err := f.targets(part)
	if err != nil {
		return "", false, err
	}
	for _, t := range targets {
		if !strings.HasSuffix(t.kind, "/notesSlide") {
			continue
		}
		notes := &paragraphWriter{names: slideNames}
		if err := f.write(t.part, notes); err != nil {
			return "", false, err
		}
		if s := notes.finish(); s != "" {
			text += "\n\nNotes:\n" + s
		}
		return text, w.full() || notes.full(), nil
	}
	return text, w.full(), nil
}

// relatedPart is a part that another part refers to.
type relatedPart struct{ name, part string }

// related lists the parts that elements of a part refer to, in its order.
func (f *officeFile) related(part, element string) ([]relatedPart, error) {
	targets, err := f.targets(part)
	if err != nil {
		return nil, err
	}
	var list []relatedPart
	nothing := func(string) {}
	err = f.walk(part, xmlVisitor{end: nothing, text: nothing, begin: func(name string, a map[string]string) {
		if target, known := targets[a["r:id"]]; known && name == element {
			list = append(list, relatedPart{name: a["name"], part: target.part})
		}
	}})
	return list, err
}

// target is the target part of a relationship.
type target struct{ kind, part string }

// targets returns the relationships of a part by their IDs. Those of a/b.xml are in
// a/_rels/b.xml.rels, with targets relative to a, or absolute if they begin with a
// slash (ECMA-376, part 2, Open Packaging Conventions).
func (f *officeFile) targets(part string) (map[string]target, error) {
	targets := map[string]target{}
	nothing := func(string) {}
	rels := path.Join(path.Dir(part), "_rels", path.Base(part)+".rels")
	err := f.walk(rels, xmlVisitor{end: nothing, text: nothing, begin: func(name string, a map[string]string) {
		if name != "Relationship" || a["Target"] == "" {
			return
		}
		to := a["Target"]
		if !strings.HasPrefix(to, "/") {
			to = path.Join(path.Dir(part), to)
		}
		targets[a["Id"]] = target{kind: a["Type"], part: strings.TrimPrefix(to, "/")}
	}})
	return targets, err
}
