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
	subtypeFreeText = 3
	subtypeWidget   = 20 // a form field
)

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
	}
	const normal = 0
	has, err := e.call(ctx, "EPDFAnnot_HasAppearanceStream", annotation, normal)
	if err == nil && has == 0 {
		_, err = e.call(ctx, generate, annotation)
	}
	return err
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

// withNotes appends the texts of text boxes that are not drawn, and a list of the
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
	return strings.TrimLeft(b.String(), "\n")
}

func oneSpace(s string) string { return strings.Join(strings.Fields(s), " ") }
