package pdfium

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"
)

// Text returns the text of the page in the order that PDFium finds, with the
// values of its form fields at the end. Lines end with "\n". It changes the page: a picture
// that shows the fields must be drawn before.
func (p *Page) Text(ctx context.Context) (string, error) {
	e := p.d.e
	if err := p.flatten(ctx); err != nil {
		return "", err
	}
	text, err := e.call(ctx, "FPDFText_LoadPage", p.handle)
	if err != nil || text == 0 {
		return p.withNotes(""), err
	}
	n, err := e.call(ctx, "FPDFText_CountChars", text)
	if err != nil {
		return "", err
	}
	var units []uint16
	if count := int(int32(n)); count > 0 {
		units, err = e.units(ctx, 2*count+2, func(at uint32) error {
			_, err := e.call(ctx, "FPDFText_GetText", text, 0, uint64(count), uint64(at))
			return err
		})
		if err == nil && len(units) == count+1 { // each character is one unit, so that positions agree
			units, err = e.layOut(ctx, text, units[:count])
		}
		if err != nil {
			return "", err
		}
	}
	if err := p.nameRadios(ctx, text); err != nil {
		return "", err
	}
	_, err = e.call(ctx, "FPDFText_ClosePage", text)
	return p.withNotes(decode(units)), err
}

// boundedText returns the text in a rectangle of a page.
func (e *Engine) boundedText(ctx context.Context, text uint64, b box) (string, error) {
	place := []uint64{text, api.EncodeF64(b.left), api.EncodeF64(b.top), api.EncodeF64(b.right), api.EncodeF64(b.bottom)}
	n, err := e.call(ctx, "FPDFText_GetBoundedText", append(slices.Clone(place), 0, 0)...)
	count := int(int32(n))
	if err != nil || count <= 0 {
		return "", err
	}
	units, err := e.units(ctx, 2*count, func(at uint32) error {
		_, err := e.call(ctx, "FPDFText_GetBoundedText", append(slices.Clone(place), uint64(at), n)...)
		return err
	})
	return decode(units), err
}

// lineEnds makes all line ends "\n".
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// markers are characters by which PDFium marks what is not text: U+FFFE and
// U+0002 are hyphens at the end of a line.
var markers = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "", "\uFFFE", "-", "\u0002", "-")

// decode converts the UTF-16 of PDFium to text and resolves its markers.
func decode(units []uint16) string { return markers.Replace(string(utf16.Decode(units))) }

// sizedText returns the text of a function that writes UTF-16 into a buffer and
// returns its size in bytes, which is asked first.
func (e *Engine) sizedText(ctx context.Context, name string, args ...uint64) (string, error) {
	size, err := e.call(ctx, name, append(args[:len(args):len(args)], 0, 0)...)
	if err != nil || uint32(size) <= 2 {
		return "", err
	}
	units, err := e.units(ctx, int(uint32(size)), func(at uint32) error {
		_, err := e.call(ctx, name, append(args[:len(args):len(args)], uint64(at), size)...)
		return err
	})
	return strings.TrimRight(string(utf16.Decode(units)), "\x00"), err
}

// units returns the UTF-16 that a call writes into memory of a size in bytes.
func (e *Engine) units(ctx context.Context, size int, write func(at uint32) error) ([]uint16, error) {
	at, err := e.allocate(ctx, size)
	if err != nil {
		return nil, err
	}
	defer e.free(ctx, at)
	if err := write(at); err != nil {
		return nil, err
	}
	raw, ok := e.module.Memory().Read(at, uint32(size))
	if !ok {
		return nil, errAborted
	}
	units := make([]uint16, 0, size/2)
	for ; len(raw) > 1; raw = raw[2:] {
		units = append(units, binary.LittleEndian.Uint16(raw))
	}
	return units, nil
}
