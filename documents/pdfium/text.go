package pdfium

import (
	"context"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"
)

// Text returns the text of the page in the order that PDFium finds, with the
// values of its form fields at the end. Lines end with "\n".
func (p *Page) Text(ctx context.Context) (string, error) {
	e := p.d.e
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
			units, err = e.joinLetters(ctx, text, units[:count])
		}
		if err != nil {
			return "", err
		}
	}
	_, err = e.call(ctx, "FPDFText_ClosePage", text)
	return p.withNotes(decode(units)), err
}

// lineEnds makes all line ends "\n".
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// markers are characters by which PDFium marks what is not text: U+FFFE and
// U+0002 are hyphens at the end of a line.
var markers = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "", "\uFFFE", "-", "\u0002", "-")

func decode(units []uint16) string { return markers.Replace(string(utf16.Decode(units))) }

// maxLetterGap is the largest gap between letters of one word, as a part of the
// font size. pdftotext uses the same.
const maxLetterGap = 0.1

// joinLetters removes spaces between letters that are as close as those of one
// word: typesetters such as groff place letters one by one, which comes out as
// "Sor ting". Text that is turned keeps its spaces.
func (e *Engine) joinLetters(ctx context.Context, text uint64, units []uint16) ([]uint16, error) {
	at, err := e.allocate(ctx, 4*8)
	if err != nil {
		return nil, err
	}
	defer e.free(ctx, at)
	kept := make([]uint16, 0, len(units))
	for i, u := range units {
		if u == ' ' && i > 0 && i+1 < len(units) && !isSpace(units[i-1]) && !isSpace(units[i+1]) {
			joined, err := e.adjoin(ctx, text, i-1, i+1, at)
			if err != nil {
				return nil, err
			}
			if joined {
				continue
			}
		}
		kept = append(kept, u)
	}
	return kept, nil
}

func isSpace(u uint16) bool { return u == ' ' || u == '\r' || u == '\n' }

// adjoin reports whether two characters belong to one word by their places.
// scratch is memory of the module for four float64.
func (e *Engine) adjoin(ctx context.Context, text uint64, left, right int, scratch uint32) (bool, error) {
	angle, err := e.call(ctx, "FPDFText_GetCharAngle", text, uint64(left))
	if err != nil || api.DecodeF32(angle) != 0 {
		return false, err
	}
	a, err := e.charBox(ctx, text, left, scratch)
	if err != nil {
		return false, err
	}
	b, err := e.charBox(ctx, text, right, scratch)
	if err != nil {
		return false, err
	}
	size, err := e.call(ctx, "FPDFText_GetFontSize", text, uint64(right))
	if err != nil {
		return false, err
	}
	gap, sameLine := (b.left-a.right)/api.DecodeF64(size), min(a.top, b.top) > max(a.bottom, b.bottom)
	return sameLine && gap > -maxLetterGap && gap < maxLetterGap, nil
}

// box is the place of a character in points, from the lower left corner.
type box struct{ left, right, bottom, top float64 }

func (e *Engine) charBox(ctx context.Context, text uint64, i int, scratch uint32) (b box, err error) {
	ok, err := e.call(ctx, "FPDFText_GetCharBox", text, uint64(i), uint64(scratch), uint64(scratch+8), uint64(scratch+16), uint64(scratch+24))
	if err != nil || ok == 0 {
		return box{}, err
	}
	for j, v := range []*float64{&b.left, &b.right, &b.bottom, &b.top} {
		*v, _ = e.module.Memory().ReadFloat64Le(scratch + uint32(8*j)) // scratch was allocated
	}
	return b, nil
}

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
