package pdfium

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Page is an open page. Its form fields and annotations are part of its content.
type Page struct {
	d      *Document
	handle uint64
	boxes  []string // texts of text boxes
	fields []string // "name: value" of filled-in form fields, in the order of the file
}

// Page opens a page, counted from 0.
//
// It flattens form fields and other annotations into the content of the page, so
// that what was filled in is text and part of pictures. Programs that fill in
// forms often leave drawing the fields to the viewer; these are drawn first.
func (d *Document) Page(ctx context.Context, number int) (*Page, error) {
	p := &Page{d: d}
	if err := p.load(ctx, number); err != nil {
		return nil, err
	}
	if err := p.readAnnotations(ctx); err != nil {
		return nil, err
	}
	const changed, forScreen = 1, 0
	result, err := d.e.call(ctx, "FPDFPage_Flatten", p.handle, forScreen)
	if err != nil || result != changed {
		return p, err
	}
	if err := p.Close(ctx); err != nil { // the change takes effect when the page is loaded again
		return nil, err
	}
	return p, p.load(ctx, number)
}

func (p *Page) load(ctx context.Context, number int) (err error) {
	p.handle, err = p.d.e.call(ctx, "FPDF_LoadPage", p.d.handle, uint64(number))
	if err == nil && p.handle == 0 {
		err = fmt.Errorf("page %d: %w", number+1, ErrDamaged)
	}
	return err
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

// readAnnotations keeps the texts of form fields and text boxes, and generates
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
		if err := p.readAnnotation(ctx, annotation); err != nil {
			return err
		}
		if _, err := p.d.e.call(ctx, "FPDFPage_CloseAnnot", annotation); err != nil {
			return err
		}
	}
	return nil
}

func (p *Page) readAnnotation(ctx context.Context, annotation uint64) error {
	e := p.d.e
	subtype, err := e.call(ctx, "FPDFAnnot_GetSubtype", annotation)
	if err != nil {
		return err
	}
	generate := "EPDFAnnot_GenerateAppearance"
	switch subtype {
	case subtypeWidget:
		generate = "EPDFAnnot_GenerateFormFieldAP"
		field, err := p.fieldText(ctx, annotation)
		if err != nil {
			return err
		}
		if field != "" && !slices.Contains(p.fields, field) { // a field may be drawn at several places
			p.fields = append(p.fields, field)
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

// Types of form fields, by FPDFAnnot_GetFormFieldType.
const (
	fieldCheckBox = 2
	fieldRadio    = 3
	fieldComboBox = 4
	fieldListBox  = 5
	fieldText     = 6
)

// maskedField is the flag of a text field for a password.
const maskedField = 1 << 13

// fieldText returns "name: value" of a form field, or "" for a field that is
// empty, not checked, or for a password. The name is the one that programs show
// to people, if there is one.
func (p *Page) fieldText(ctx context.Context, annotation uint64) (string, error) {
	value, err := p.fieldValue(ctx, annotation)
	if err != nil || strings.TrimSpace(value) == "" {
		return "", err
	}
	for _, source := range []string{"FPDFAnnot_GetFormFieldAlternateName", "FPDFAnnot_GetFormFieldName"} {
		name, err := p.d.e.sizedText(ctx, source, p.d.form, annotation)
		if err != nil {
			return "", err
		}
		if name = oneSpace(name); name != "" {
			return name + ": " + strings.TrimSpace(lineEnds.Replace(value)), nil
		}
	}
	return value, nil
}

func (p *Page) fieldValue(ctx context.Context, annotation uint64) (string, error) {
	e := p.d.e
	fieldType, err := e.call(ctx, "FPDFAnnot_GetFormFieldType", p.d.form, annotation)
	if err != nil {
		return "", err
	}
	switch fieldType {
	case fieldCheckBox, fieldRadio:
		// The state is the name of the appearance that is shown.
		// FPDFAnnot_IsChecked misses fields that declare no other one.
		state, err := p.stringValue(ctx, annotation, "AS")
		if err != nil || state == "" || state == "Off" {
			return "", err
		}
		if fieldType == fieldRadio {
			return state, nil
		}
		return "checked", nil
	case fieldText:
		flags, err := e.call(ctx, "FPDFAnnot_GetFormFieldFlags", p.d.form, annotation)
		if err != nil || flags&maskedField != 0 {
			return "", err
		}
	case fieldComboBox, fieldListBox:
	default:
		return "", nil
	}
	return e.sizedText(ctx, "FPDFAnnot_GetFormFieldValue", p.d.form, annotation)
}

// stringValue returns the text or name that an annotation has under a key.
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
