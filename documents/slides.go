package documents

import (
	"fmt"
	"path"
	"strings"
)

// readSlides reads the text of each slide and its speaker notes, in the order of the list in
// presentation.xml. Part names such as slide3.xml need not follow that order.
func (r *reading) readSlides(f *officeFile, out *Document) error {
	slides, err := f.related(f.mainPart(), "sldId")
	if err != nil {
		return err
	}
	numbers, truncated, err := r.choosePages(len(slides), "slide")
	if err != nil {
		return err
	}
	out.Pages, out.Truncated = len(slides), truncated
	var texts pageTexts
	var pictures []int
	for _, n := range numbers {
		text, slide, err := f.slideText(slides[n-1].part)
		if err != nil {
			return err
		}
		out.Truncated = out.Truncated || slide.full() || slide.lost
		if text == "" && slide.pictures > 0 {
			pictures = append(pictures, n)
			text = fmt.Sprintf("[Slide %d has no text, only pictures.]", n)
		}
		if texts.add(text); texts.full() {
			break
		}
	}
	out.Text, out.Truncated = texts.String(), out.Truncated || texts.full()
	if out.pictures = len(pictures); out.pictures > 0 && out.pictures == len(numbers) {
		out.Text = "" // which is refused
	}
	return nil
}

// slideText returns the text of a slide, with its speaker notes under "Notes:", and the writer of the slide.
func (f *officeFile) slideText(part string) (text string, slide *slideWriter, err error) {
	targets, err := f.targets(part)
	if err != nil {
		return "", nil, err
	}
	slide = newSlideWriter(targets)
	if err := f.walk(part, slide.visitor()); err != nil {
		return "", nil, err
	}
	text = slide.finish()
	for _, t := range targets {
		if !strings.HasSuffix(t.kind, "/notesSlide") || t.external {
			continue
		}
		notes := newSlideWriter(nil)
		if err := f.walk(t.part, notes.visitor()); err != nil {
			return "", nil, err
		}
		if s := notes.finish(); s != "" {
			text += "\n\nNotes:\n" + s
		}
		slide.size += notes.size
		return text, slide, nil
	}
	return text, slide, nil
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
	err = f.walk(part, xmlVisitor{begin: func(name string, a map[string]string) {
		if target, known := targets[a["r:id"]]; known && name == element {
			list = append(list, relatedPart{name: a["name"], part: target.part})
		}
	}})
	return list, err
}

// target is what a relationship refers to: a part, or for a link outside of the file, a URL.
type target struct {
	kind, part string
	external   bool
}

// targets returns the relationships of a part by their IDs. Those of a/b.xml are in
// a/_rels/b.xml.rels, with targets relative to a, or absolute if they begin with a
// slash (ECMA-376, part 2, Open Packaging Conventions). Those of the file itself, part "",
// are in _rels/.rels.
func (f *officeFile) targets(part string) (map[string]target, error) {
	targets := map[string]target{}
	rels := path.Join(path.Dir(part), "_rels", path.Base(part)+".rels")
	if part == "" {
		rels = "_rels/.rels"
	}
	err := f.walk(rels, xmlVisitor{begin: func(name string, a map[string]string) {
		if name != "Relationship" || a["Target"] == "" {
			return
		}
		to := a["Target"]
		if a["TargetMode"] == "External" {
			targets[a["Id"]] = target{kind: a["Type"], part: to, external: true}
			return
		}
		if !strings.HasPrefix(to, "/") {
			to = path.Join(path.Dir(part), to)
		}
		targets[a["Id"]] = target{kind: a["Type"], part: strings.TrimPrefix(to, "/")}
	}})
	return targets, err
}
