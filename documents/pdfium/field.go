package pdfium

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readField records the text of a form field.
func (p *Page) readField(ctx context.Context, index, annotation uint64) error {
	place, err := p.place(ctx, annotation)
	if err != nil {
		return err
	}
	p.widgets = append(p.widgets, place)
	field, err := p.fieldText(ctx, annotation)
	if err != nil || field == "" {
		return err
	}
	if !slices.Contains(p.fields, field) { // a field may be drawn at several places
		p.fields = append(p.fields, field)
	}
	if name, value, _ := strings.Cut(field, ": "); unnamedState.MatchString(value) {
		p.radios = append(p.radios, radioButton{field: field, name: name, place: place})
	}
	fieldType, err := p.d.e.call(ctx, "FPDFAnnot_GetFormFieldType", p.d.form, annotation)
	if fieldType != fieldCheckBox && fieldType != fieldRadio { // the mark of these is drawn beside the label
		p.listed = append(p.listed, index)
	}
	return err
}

// radioButton is a selected radio button that has no name of its own.
type radioButton struct {
	field, name string
	place       box
}

// unnamedState finds the states that programs give to radio buttons without a name.
var unnamedState = regexp.MustCompile(`^(?i:\d+|choice ?\d+|option ?\d+|on|yes|radio ?button ?\d*|button ?\d*)$`)

// place returns the rectangle of an annotation.
func (p *Page) place(ctx context.Context, annotation uint64) (box, error) {
	e := p.d.e
	at, err := e.allocate(ctx, rectSize)
	if err != nil {
		return box{}, err
	}
	defer e.free(ctx, at)
	ok, err := e.call(ctx, "FPDFAnnot_GetRect", annotation, uint64(at))
	if err != nil || ok == 0 {
		return box{}, err
	}
	return e.rect(at), nil
}

// nameRadios gives selected radio buttons without a name the label that the page shows at their right, up to the next
// field.
func (p *Page) nameRadios(ctx context.Context, text uint64) error {
	const width = 200 // points
	for _, r := range p.radios {
		right := r.place.right + width
		for _, w := range p.widgets {
			if w.left >= r.place.right && w.left < right && w.overlap(r.place) > 0 {
				right = w.left
			}
		}
		label, err := p.d.e.boundedText(ctx, text, box{left: r.place.right, right: right, bottom: r.place.bottom, top: r.place.top})
		if err != nil {
			return err
		}
		label, _, _ = strings.Cut(strings.TrimSpace(label), "\n")
		if at := slices.Index(p.fields, r.field); at >= 0 && label != "" {
			p.fields[at] = r.name + ": " + oneSpace(label)
		}
	}
	return nil
}

// Types of form fields, by FPDFAnnot_GetFormFieldType.
const (
	fieldCheckBox = 2
	fieldRadio    = 3
	fieldComboBox = 4
	fieldListBox  = 5
	fieldText     = 6
)

// maskedField is the flag of a text field for a password: bit 14, counted from 1
// (ISO 32000-1, table 228).
const maskedField = 1 << 13

// fieldText returns "name: value" of a form field, or "" for a field that is
// empty, not checked, or for a password. The name is the alternate name, which programs show
// to users, if the field has one.
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

// fieldValue returns the value of a form field: "checked" for a check box, the name of the
// selected button for radio buttons. Push buttons, signatures
// and fields for passwords have no value.
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
			return p.radioValue(ctx, annotation, decodeName(state))
		}
		return "checked", nil
	case fieldText:
		flags, err := e.call(ctx, "FPDFAnnot_GetFormFieldFlags", p.d.form, annotation)
		if err != nil || flags&maskedField != 0 {
			return "", err
		}
	case fieldListBox:
		return p.chosen(ctx, annotation)
	case fieldComboBox:
	default:
		return "", nil
	}
	return e.sizedText(ctx, "FPDFAnnot_GetFormFieldValue", p.d.form, annotation)
}

// radioValue returns the name of a selected radio button: its own alternate name if it has one, or else its state. States
// that are numbers are positions in a list of names, Opt (ISO 32000-1, 12.7.4.2.4).
func (p *Page) radioValue(ctx context.Context, annotation uint64, state string) (string, error) {
	own, err := p.stringValue(ctx, annotation, "TU")
	if err != nil {
		return "", err
	}
	group, err := p.d.e.sizedText(ctx, "FPDFAnnot_GetFormFieldAlternateName", p.d.form, annotation)
	if err != nil {
		return "", err
	}
	if own = oneSpace(own); own != "" && own != oneSpace(group) {
		return own, nil
	}
	if !unnamedState.MatchString(state) {
		return state, nil
	}
	index, err := strconv.ParseUint(state, 10, 16)
	if err != nil {
		return state, nil
	}
	listed, err := p.d.e.sizedText(ctx, "FPDFAnnot_GetOptionLabel", p.d.form, annotation, index)
	if err != nil || strings.TrimSpace(listed) == "" {
		return state, err
	}
	return listed, nil
}

// chosen returns the selected options of a list box, separated by ", ".
func (p *Page) chosen(ctx context.Context, annotation uint64) (string, error) {
	count, err := p.d.e.call(ctx, "FPDFAnnot_GetOptionCount", p.d.form, annotation)
	if err != nil {
		return "", err
	}
	var options []string
	for i := range max(int32(count), 0) {
		selected, err := p.d.e.call(ctx, "FPDFAnnot_IsOptionSelected", p.d.form, annotation, uint64(i))
		if err != nil {
			return "", err
		}
		if selected == 0 {
			continue
		}
		option, err := p.d.e.sizedText(ctx, "FPDFAnnot_GetOptionLabel", p.d.form, annotation, uint64(i))
		if err != nil {
			return "", err
		}
		options = append(options, option)
	}
	if len(options) == 0 { // a value that is not among the options
		return p.d.e.sizedText(ctx, "FPDFAnnot_GetFormFieldValue", p.d.form, annotation)
	}
	return strings.Join(options, ", "), nil
}

// decodeName returns the text of a PDF name, in which #C3 is the byte C3 (ISO 32000-1, 7.3.5).
// Names are UTF-8 by convention.
func decodeName(name string) string {
	text, err := url.PathUnescape(strings.ReplaceAll(strings.ReplaceAll(name, "%", "%25"), "#", "%"))
	if err != nil || !utf8.ValidString(text) {
		return name
	}
	return text
}
