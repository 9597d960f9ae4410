package documents

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// wordFile is a Word document (WordprocessingML, ECMA-376 part 1, section 17) with the parts that its text depends on.
type wordFile struct {
	*officeFile
	main      string            // name of the main part
	parts     map[string]string // names of the other parts by the kind of their relationship, such as "footnotes"
	styles    map[string]wordStyle
	numbering *numbering
	depth     int // number of documents around this one
}

// wordText reads a Word document.
func (f *officeFile) wordText(out *Document) error {
	file, err := f.openWord(0)
	if err != nil {
		return err
	}
	w, err := file.readMain()
	if err != nil {
		return err
	}
	out.Text, out.Truncated, out.pictures = w.finish(), w.full() || w.lost, w.pictures
	if w.hidden {
		out.warn("The document has hidden text, which was left out.")
	}
	return nil
}

// openWord reads the styles and list definitions of a document.
func (f *officeFile) openWord(depth int) (*wordFile, error) {
	file := &wordFile{officeFile: f, main: f.mainPart(), parts: map[string]string{}, depth: depth}
	targets, err := f.targets(file.main)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{"styles", "numbering", "footnotes", "endnotes", "comments"} {
		file.parts[kind] = path.Join(path.Dir(file.main), kind+".xml") // if no relationship says otherwise
	}
	for _, t := range targets {
		if kind := path.Base(t.kind); file.parts[kind] != "" && !t.external {
			file.parts[kind] = t.part
		}
	}
	if file.styles, err = f.wordStyles(file.parts["styles"]); err != nil {
		return nil, err
	}
	file.numbering, err = f.wordNumbering(file.parts["numbering"], file.styles)
	return file, err
}

// readMain reads the main part, and the notes and comments that it refers to.
func (f *wordFile) readMain() (*wordWriter, error) {
	w, err := f.newWriter(f.main)
	if err != nil {
		return nil, err
	}
	if err := f.walk(f.main, w.visitor()); err != nil {
		return nil, err
	}
	for _, from := range []struct{ part, element, reference string }{
		{f.parts["footnotes"], "footnote", "footnoteReference"},
		{f.parts["endnotes"], "endnote", "endnoteReference"},
		{f.parts["comments"], "comment", "commentReference"},
	} {
		if !slices.ContainsFunc(w.notes, func(n note) bool { return n.element == from.reference }) {
			continue
		}
		texts, err := f.noteTexts(w, from.part, from.element)
		if err != nil {
			return nil, err
		}
		for i, n := range w.notes {
			if n.element == from.reference {
				w.notes[i].text = texts[n.id]
				w.size += len(texts[n.id])
			}
		}
	}
	return w, nil
}

// noteTexts returns the texts of notes or comments by their IDs. What it finds out about the document is recorded in
// main.
func (f *wordFile) noteTexts(main *wordWriter, part, element string) (map[string]string, error) {
	texts := map[string]string{}
	w, err := f.newWriter(part)
	if err != nil {
		return nil, err
	}
	var id, author string
	err = f.walk(part, xmlVisitor{text: w.text, enough: w.full,
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
	main.lost, main.hidden, main.pictures = main.lost || w.lost, main.hidden || w.hidden, main.pictures+w.pictures
	return texts, err
}

// embedded returns the text of a part in another format, which altChunk puts into a document (ECMA-376, section 17.17.2.1).
// Word converts it when it opens the file. It reports whether the format is known.
func (f *wordFile) embedded(part string) (text string, known bool) {
	const maxDepth = 3
	data, err := f.content(part)
	if err != nil || f.depth >= maxDepth {
		return "", false
	}
	r := &reading{Request: Request{Name: part, MIME: f.contentType(part)}, data: data}
	format := r.format()
	if format == "text" && bytes.HasPrefix(bytes.TrimSpace(data), []byte("<?xml")) { // Word's own format in one file
		return "", false
	}
	return f.embeddedText(r, format)
}

// embeddedText returns the text of a part of a format.
func (f *wordFile) embeddedText(r *reading, format string) (text string, known bool) {
	switch format {
	case "docx":
		inner, err := openOffice(r.data)
		if err != nil {
			return "", false
		}
		inner.left = f.left // one budget for all
		file, err := inner.openWord(f.depth + 1)
		if err != nil {
			return "", false
		}
		w, err := file.readMain()
		f.left = inner.left
		if err != nil {
			return "", false
		}
		return w.finish(), !w.lost && !w.full()
	case "html", "rtf", "eml", "text", "markdown", "csv":
		doc, err := r.readDocument()
		if err != nil {
			return "", false
		}
		return strings.TrimSpace(doc.Text), !doc.Truncated
	}
	return "", false
}
