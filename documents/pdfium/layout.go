package pdfium

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/tetratelabs/wazero/api"
)

const (
	// maxLetterGap is the largest gap between letters of one word, as a part of
	// the font size. pdftotext uses the same.
	maxLetterGap = 0.1
	// cellGap is the smallest gap between cells of a table, and paragraphGap the
	// smallest distance of lines that belong to different paragraphs, as parts of
	// the height of a line.
	cellGap, paragraphGap = 1.4, 1.5
)

// layOut corrects the white space that PDFium inserts, by the positions of the characters:
//
//   - It removes spaces between letters that are as close as those of one word:
//     typesetters such as groff place letters one by one, which comes out as
//     "Sor ting".
//   - It makes a wide space a tab, so that the cells of a table stay apart.
//   - It puts an empty line between paragraphs.
//
// Rotated text is left unchanged.
func (e *Engine) layOut(ctx context.Context, text uint64, units []uint16) ([]uint16, error) {
	at, err := e.allocate(ctx, 4*8)
	if err != nil {
		return nil, err
	}
	defer e.free(ctx, at)
	l := &layout{e: e, text: text, scratch: at}
	out := make([]uint16, 0, len(units))
	for i, u := range units {
		before, after := i-1, i+1
		if u == '\n' && before >= 0 && units[before] == '\r' {
			before--
		}
		if (u != ' ' && u != '\n') || before < 0 || after == len(units) || isSpace(units[before]) || isSpace(units[after]) {
			out = append(out, u)
			continue
		}
		space, err := l.between(ctx, before, after, u)
		if err != nil {
			return nil, err
		}
		out = append(out, space...)
	}
	return out, nil
}

func isSpace(u uint16) bool { return u == ' ' || u == '\r' || u == '\n' }

// layout reads the positions of characters. A PDF has no words, lines or cells: it places
// glyphs at coordinates (ISO 32000-1, 9.4), and every reader infers the rest from gaps. All
// distances are relative to the font size or line height, so that small print and headings
// are treated alike.
type layout struct {
	e       *Engine
	text    uint64
	scratch uint32 // memory of the module for four float64
}

// between returns the separator for two characters between which PDFium inserted a space or
// a line break.
func (l *layout) between(ctx context.Context, left, right int, separator uint16) ([]uint16, error) {
	for _, i := range []int{left, right} {
		angle, err := l.e.call(ctx, "FPDFText_GetCharAngle", l.text, uint64(i))
		if err != nil || api.DecodeF32(angle) != 0 {
			return []uint16{separator}, err
		}
	}
	a, err := l.lineBox(ctx, left)
	if err != nil {
		return nil, err
	}
	b, err := l.lineBox(ctx, right)
	if err != nil {
		return nil, err
	}
	height := max(a.top-a.bottom, b.top-b.bottom)
	switch {
	case separator == '\n' && math.Abs(a.bottom-b.bottom) > paragraphGap*height && height > 0:
		return []uint16{'\n', '\n'}, nil
	case separator == ' ' && gap(a, b) > cellGap*height && sameLine(a, b):
		return []uint16{'\t'}, nil
	case separator == ' ':
		joined, err := l.adjoin(ctx, left, right)
		if err != nil || joined {
			return nil, err
		}
	}
	return []uint16{separator}, nil
}

// adjoin reports whether two characters are close enough to belong to one word.
func (l *layout) adjoin(ctx context.Context, left, right int) (bool, error) {
	a, err := l.charBox(ctx, left)
	if err != nil {
		return false, err
	}
	b, err := l.charBox(ctx, right)
	if err != nil {
		return false, err
	}
	size, err := l.e.call(ctx, "FPDFText_GetFontSize", l.text, uint64(right))
	if err != nil {
		return false, err
	}
	between := (b.left - a.right) / api.DecodeF64(size)
	return sameLine(a, b) && between > -maxLetterGap && between < maxLetterGap, nil
}

// box is the place of a character in points (1/72 inch), from the lower left
// corner, so top is the larger one.
type box struct{ left, right, bottom, top float64 }

// gap returns the distance of two boxes, whichever is at the left: some scripts
// run from right to left.
func gap(a, b box) float64 { return max(b.left-a.right, a.left-b.right) }

// sameLine reports whether two boxes overlap vertically.
func sameLine(a, b box) bool { return min(a.top, b.top) > max(a.bottom, b.bottom) }

// charBox returns the place of the ink of a character: of "a" without the space
// that the line has for "b" and "g". PDFium writes four float64 in the order left,
// right, bottom, top.
func (l *layout) charBox(ctx context.Context, i int) (b box, err error) {
	at := l.scratch
	ok, err := l.e.call(ctx, "FPDFText_GetCharBox", l.text, uint64(i), uint64(at), uint64(at+8), uint64(at+16), uint64(at+24))
	if err != nil || ok == 0 {
		return box{}, err
	}
	for j, v := range []*float64{&b.left, &b.right, &b.bottom, &b.top} {
		*v, _ = l.e.module.Memory().ReadFloat64Le(at + uint32(8*j)) // scratch was allocated
	}
	return b, nil
}

// lineBox returns the place of a character with the space that its font gives to
// each one, so that characters of a line have the same height. PDFium writes an
// FS_RECTF: four float32 in the order left, top, right, bottom.
func (l *layout) lineBox(ctx context.Context, i int) (b box, err error) {
	ok, err := l.e.call(ctx, "FPDFText_GetLooseCharBox", l.text, uint64(i), uint64(l.scratch))
	if err != nil || ok == 0 {
		return box{}, err
	}
	raw, _ := l.e.module.Memory().Read(l.scratch, 16) // scratch was allocated
	for j, v := range []*float64{&b.left, &b.top, &b.right, &b.bottom} {
		*v = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*j:])))
	}
	return b, nil
}
