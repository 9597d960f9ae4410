package pdfium

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Page is an open page. It includes form fields and annotations without an appearance, which
// their program left to the viewer to draw.
type Page struct {
	d      *Document
	number int // from 0
	handle uint64
	boxes  []string // texts of text boxes
	fields []string // "name: value" of filled-in form fields, in the order of the file
	listed []uint64 // annotations of the fields whose text is in fields, ascending

	comments []comment
	widgets  []box         // places of the form fields
	radios   []radioButton // selected buttons whose label is only drawn
}

// comment is a note that someone added to the page.
type comment struct {
	author, text string
	marks        bool // it marks words of the page, which some programs repeat in the text of the comment
}

// Page opens a page, counted from 0.
func (d *Document) Page(ctx context.Context, number int) (*Page, error) {
	p := &Page{d: d, number: number}
	if err := p.load(ctx); err != nil {
		return nil, err
	}
	return p, p.readAnnotations(ctx)
}

// load opens the page in PDFium; a page that PDFium cannot read is ErrDamaged.
func (p *Page) load(ctx context.Context) (err error) {
	p.handle, err = p.d.e.call(ctx, "FPDF_LoadPage", p.d.handle, uint64(p.number))
	if err == nil && p.handle == 0 {
		err = fmt.Errorf("page %d: %w", p.number+1, ErrDamaged)
	}
	return err
}

// flatten makes annotations part of the content of the page, so that their text is
// found like any other. Fields that are listed are removed instead: drawn, a value is
// apart from its label, and its letters are often those of a font that only its
// program can read.
func (p *Page) flatten(ctx context.Context) error {
	for _, i := range slices.Backward(p.listed) { // a removal moves the ones after it
		if _, err := p.d.e.call(ctx, "FPDFPage_RemoveAnnot", p.handle, i); err != nil {
			return err
		}
	}
	p.listed = nil
	const changed, forScreen = 1, 0
	result, err := p.d.e.call(ctx, "FPDFPage_Flatten", p.handle, forScreen)
	if err != nil || result != changed {
		return err
	}
	if err := p.Close(ctx); err != nil { // the change takes effect when the page is loaded again
		return err
	}
	return p.load(ctx)
}

// Close frees the memory of the page.
func (p *Page) Close(ctx context.Context) error {
	_, err := p.d.e.call(ctx, "FPDF_ClosePage", p.handle)
	return err
}

// Types of page objects, by FPDFPageObj_GetType.
const (
	objectImage = 3
	objectForm  = 5 // a group of objects; scanners put pictures in one
)

// HasPicture reports whether the page has an image, or a group that may hold one.
func (p *Page) HasPicture(ctx context.Context) (bool, error) {
	e := p.d.e
	count, err := e.call(ctx, "FPDFPage_CountObjects", p.handle)
	if err != nil {
		return false, err
	}
	for i := range max(int32(count), 0) {
		object, err := e.call(ctx, "FPDFPage_GetObject", p.handle, uint64(i))
		if err != nil {
			return false, err
		}
		kind, err := e.call(ctx, "FPDFPageObj_GetType", object)
		if err != nil || kind == objectImage || kind == objectForm {
			return err == nil, err
		}
	}
	return false, nil
}

// Subtypes of annotations, by FPDFAnnot_GetSubtype.
const (
	subtypeText           = 1 // a sticky note
	subtypeFreeText       = 3
	subtypeLine           = 4
	subtypeHighlight      = 9
	subtypeStrikeOut      = 12
	subtypeInk            = 15
	subtypeFileAttachment = 17
	subtypeWidget         = 20 // a form field
)

// isComment reports whether an annotation holds a comment: sticky notes, drawings, and marks of words. The
// pop-up window of a comment repeats it.
func isComment(subtype uint64) bool {
	return subtype == subtypeText || subtype >= subtypeLine && subtype <= subtypeInk || subtype == subtypeFileAttachment
}

// readAnnotations records the texts of form fields and text boxes, and generates
// the appearance of annotations that have none.
func (p *Page) readAnnotations(ctx context.Context) error {
	count, err := p.d.e.call(ctx, "FPDFPage_GetAnnotCount", p.handle)
	if err != nil {
		return err
	}
	for i := range uint64(uint32(count)) {
		annotation, err := p.d.e.call(ctx, "FPDFPage_GetAnnot", p.handle, i)
		if err != nil {
			return err
		}
		if annotation == 0 {
			continue
		}
		if err := p.readAnnotation(ctx, i, annotation); err != nil {
			return err
		}
		if _, err := p.d.e.call(ctx, "FPDFPage_CloseAnnot", annotation); err != nil {
			return err
		}
	}
	return nil
}

// readAnnotation records the text of one annotation. An annotation is drawn from its
// appearance stream (ISO 32000-1, 12.5.5). Some programs leave that out and expect
// the viewer to draw the value, so it is generated where it is missing.
func (p *Page) readAnnotation(ctx context.Context, index, annotation uint64) error {
	e := p.d.e
	subtype, err := e.call(ctx, "FPDFAnnot_GetSubtype", annotation)
	if err != nil {
		return err
	}
	generate := "EPDFAnnot_GenerateAppearance"
	switch subtype {
	case subtypeWidget:
		generate = "EPDFAnnot_GenerateFormFieldAP"
		if err := p.readField(ctx, index, annotation); err != nil {
			return err
		}
	case subtypeFreeText:
		box, err := p.stringValue(ctx, annotation, "Contents")
		if err != nil {
			return err
		}
		p.boxes = append(p.boxes, box)
	default:
		if err := p.readComment(ctx, subtype, annotation); err != nil {
			return err
		}
	}
	const normal = 0
	has, err := e.call(ctx, "EPDFAnnot_HasAppearanceStream", annotation, normal)
	if err == nil && has == 0 {
		_, err = e.call(ctx, generate, annotation)
	}
	return err
}

// hiddenAnnotation is the flag of an annotation that is not shown: bit 2, counted from 1 (ISO 32000-1, table 165).
const hiddenAnnotation = 1 << 1

// readComment records the text of a comment. Replies that only set the state of a comment, such as "Accepted", are left
// out.
func (p *Page) readComment(ctx context.Context, subtype, annotation uint64) error {
	if !isComment(subtype) {
		return nil
	}
	flags, err := p.d.e.call(ctx, "FPDFAnnot_GetFlags", annotation)
	if err != nil || flags&hiddenAnnotation != 0 {
		return err
	}
	values := map[string]string{}
	for _, key := range []string{"Contents", "T", "StateModel"} {
		value, err := p.stringValue(ctx, annotation, key)
		if err != nil {
			return err
		}
		values[key] = oneSpace(value)
	}
	if values["Contents"] != "" && values["StateModel"] == "" {
		p.comments = append(p.comments, comment{author: values["T"], text: values["Contents"], marks: subtype >= subtypeHighlight && subtype <= subtypeStrikeOut})
	}
	return nil
}

// stringValue returns the text or name in an annotation's dictionary under a key.
func (p *Page) stringValue(ctx context.Context, annotation uint64, key string) (string, error) {
	at, err := p.d.e.put(ctx, []byte(key+"\x00"))
	if err != nil {
		return "", err
	}
	defer p.d.e.free(ctx, at)
	return p.d.e.sizedText(ctx, "FPDFAnnot_GetStringValue", annotation, uint64(at))
}

// withNotes appends the texts of text boxes that are not drawn, and lists of the comments and the
// filled-in form fields: where fields are drawn, they are far from their labels
// in the order of a file, so that only the list says which value is which.
func (p *Page) withNotes(text string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(text, "\n"))
	drawn := oneSpace(text)
	for _, box := range p.boxes {
		if box = strings.TrimSpace(lineEnds.Replace(box)); box != "" && !strings.Contains(drawn, oneSpace(box)) {
			b.WriteString("\n" + box)
		}
	}
	if len(p.fields) > 0 {
		b.WriteString("\n\nForm fields:\n" + strings.Join(p.fields, "\n"))
	}
	title := "\n\nComments:"
	for _, c := range p.comments {
		if c.marks && strings.Contains(drawn, c.text) {
			continue
		}
		b.WriteString(title + "\n")
		title = ""
		if c.author != "" {
			b.WriteString(c.author + ": ")
		}
		b.WriteString(c.text)
	}
	return strings.TrimLeft(b.String(), "\n")
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }
