package pdfium

import (
	"context"
	"encoding/binary"
	"math"
	"unicode"

	"github.com/tetratelabs/wazero/api"
)

const (
	// maxLetterGap is the largest gap between letters of one word, as a part of
	// the font size. pdftotext uses the same.
	maxLetterGap = 0.1
	// cellGap is the smallest gap between cells of a table, and paragraphGap the
	// smallest distance of lines that belong to different paragraphs, as parts of
	// the height of a line. rowGap is that distance for rows of a table, which are
	// often further apart.
	cellGap, paragraphGap, rowGap = 1.4, 1.5, 4
	// sameLineOverlap is the vertical overlap, as a part of the smaller height, from
	// which characters are on one line although PDFium breaks the line between them;
	// and otherLineOverlap the one up to which they are on two lines although it does
	// not. Raised and lowered characters lie between.
	sameLineOverlap, otherLineOverlap = 0.5, 0.1
	// maxTilt is how far the direction of a text may be from horizontal or vertical, in
	// degrees, and how far the directions of two words of one slanted line may differ.
	maxTilt = 5
)

// layOut puts the words of a page into lines and columns by the positions of the characters. PDFium finds the characters and
// their order, but its line breaks are guesses that go wrong in tables and in text that is turned: it takes a column of
// single characters for a word, and reads sideways lines from the last to the first.
//
//   - Words on the same height are one line, and words on different heights are different lines.
//   - A wide space becomes a tab, so that the cells of a table stay apart.
//   - Cells that the file has column by column become rows; see joinColumns.
//   - Text that is turned is laid out as if it were upright.
//   - Letters that are as close as those of one word are joined: typesetters such as
//     groff place letters one by one, which comes out as "Sor ting".
//   - An empty line separates paragraphs.
func (e *Engine) layOut(ctx context.Context, text uint64, units []uint16) ([]uint16, error) {
	at, err := e.allocate(ctx, 4*8)
	if err != nil {
		return nil, err
	}
	defer e.free(ctx, at)
	l := &layout{e: e, text: text, units: units, scratch: at}
	words, err := l.words(ctx)
	if err != nil {
		return nil, err
	}
	lines := joinColumns(orderTurned(l.lines(words)))
	return l.write(ctx, lines)
}

func isSpace(u uint16) bool { return u == ' ' || u == '\r' || u == '\n' }

// layout reads the positions of characters. A PDF has no words, lines or cells: it places
// glyphs at coordinates (ISO 32000-1, 9.4), and every reader infers the rest from gaps. All
// distances are relative to the font size or line height, so that small print and headings
// are treated alike.
type layout struct {
	e       *Engine
	text    uint64
	units   []uint16
	scratch uint32 // memory of the module for four float64
}

// word is characters that PDFium does not separate. Its box is in the direction of the text: left is where it begins.
type word struct {
	start, end int // indexes of characters
	box        box
	turn       int  // degrees by which the text is turned counterclockwise, 0 to 359
	broken     bool // PDFium breaks the line before it
	shifted    int  // index from which its characters are raised or lowered; end if they are not
	raised     bool
}

// askew reports whether a text is neither horizontal nor vertical. Its words may follow a curve, so PDFium's decision
// about words and their order counts more than elsewhere.
func askew(turn int) bool { return turn%90 != 0 }

// words splits the characters at the spaces and line breaks of PDFium.
func (l *layout) words(ctx context.Context) (list []word, err error) {
	broken := false
	for i := 0; i < len(l.units); {
		if isSpace(l.units[i]) {
			broken = broken || l.units[i] != ' '
			i++
			continue
		}
		end := i
		for end < len(l.units) && !isSpace(l.units[end]) {
			end++
		}
		parts, err := l.word(ctx, i, end, broken)
		if err != nil {
			return nil, err
		}
		list = append(list, parts...)
		i, broken = end, false
	}
	return list, nil
}

// word returns the word of some characters, or several ones, if the characters are on different lines.
func (l *layout) word(ctx context.Context, start, end int, broken bool) ([]word, error) {
	turn, err := l.turn(ctx, start)
	if err != nil {
		return nil, err
	}
	first, err := l.lineBox(ctx, start, turn)
	if err != nil {
		return nil, err
	}
	last := first
	if end > start+1 {
		if last, err = l.lineBox(ctx, end-1, turn); err != nil {
			return nil, err
		}
	}
	whole := word{start: start, end: end, shifted: end, turn: turn, broken: broken, box: first.with(last)}
	if askew(turn) || first.overlap(last) > 0 || end-start < 2 {
		if shifted, raised := last.shifted(first); shifted && !askew(turn) {
			err = l.findShifted(ctx, &whole, last)
			whole.raised = raised
		}
		return []word{whole}, err
	}
	list := []word{{start: start, end: start + 1, shifted: start + 1, turn: turn, broken: broken, box: first}}
	for i := start + 1; i < end; i++ {
		b, err := l.lineBox(ctx, i, turn)
		if err != nil {
			return nil, err
		}
		before := &list[len(list)-1]
		if before.box.overlap(b) > otherLineOverlap || l.isVertical(i, before.box, b) {
			before.end, before.shifted, before.box = i+1, i+1, before.box.with(b)
			continue
		}
		list = append(list, word{start: i, end: i + 1, shifted: i + 1, turn: turn, broken: true, box: b})
	}
	return list, nil
}

// shifted reports whether a character is smaller than another one on its line, and raised or lowered.
func (b box) shifted(usual box) (shifted, raised bool) {
	const smaller, distance = 0.85, 0.12
	if b.height() <= 0 || b.height() > smaller*usual.height() {
		return false, false
	}
	up := b.bottom - usual.bottom
	down := usual.top - b.top
	raised = up > down
	return max(up, down) > (usual.height()-b.height())/2+distance*b.height(), raised
}

// findShifted finds where the characters begin that are as small as the last one of a word.
func (l *layout) findShifted(ctx context.Context, w *word, last box) error {
	w.shifted = w.end - 1
	for w.shifted > w.start+1 {
		b, err := l.lineBox(ctx, w.shifted-1, w.turn)
		if err != nil {
			return err
		}
		if b.height() > last.height()*1.1 {
			break
		}
		w.shifted--
	}
	return nil
}

// isVertical reports whether a character continues a word that is written from top to bottom: those of East Asia, and
// letters that touch. Other characters below one another are a column of a table.
func (l *layout) isVertical(i int, above, below box) bool {
	r := rune(l.units[i])
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x3000 && r < 0x3040 {
		return true
	}
	const touching = 0.05
	return unicode.IsLetter(r) && above.bottom-below.top < touching*below.height() && below.top < above.top
}

// turn returns by how many degrees a character is turned counterclockwise. PDFium gives the angle clockwise.
func (l *layout) turn(ctx context.Context, i int) (int, error) {
	raw, err := l.e.call(ctx, "FPDFText_GetCharAngle", l.text, uint64(i))
	if err != nil {
		return 0, err
	}
	degrees := -float64(api.DecodeF32(raw)) * 180 / math.Pi
	if math.IsNaN(degrees) {
		return 0, nil
	}
	if upright := math.Round(degrees/90) * 90; math.Abs(degrees-upright) <= maxTilt {
		degrees = upright
	}
	return (int(math.Round(degrees))%360 + 360) % 360, nil
}

// line is words on the same height, in the order in which they are read.
type line struct {
	words []word
	box   box
	turn  int
}

// lines puts words that follow one another into lines.
func (l *layout) lines(words []word) (list []line) {
	for i, w := range words {
		n := len(list)
		if i == 0 || !continues(&list[n-1], w) {
			list = append(list, line{words: []word{w}, box: w.box, turn: w.turn})
			continue
		}
		list[n-1].words = append(list[n-1].words, w)
		list[n-1].box = list[n-1].box.with(w.box)
	}
	for i := range list {
		if !l.rightToLeft(&list[i]) {
			list[i].sort()
		}
	}
	return list
}

// continues reports whether a word is on the line of the words before it.
func continues(on *line, w word) bool {
	before := on.words[len(on.words)-1]
	switch {
	case before.turn != w.turn:
		return askew(before.turn) && askew(w.turn) && !w.broken
	case before.box.height() <= 0 || w.box.height() <= 0: // nothing is known
		return !w.broken
	}
	overlap := before.box.overlap(w.box)
	if w.broken {
		return overlap >= sameLineOverlap
	}
	return overlap > otherLineOverlap
}

// rightToLeft reports whether a line has letters of Arabic, Hebrew or another script that runs from right to left. PDFium
// has put them in the order in which they are read.
func (l *layout) rightToLeft(on *line) bool {
	for _, w := range on.words {
		for _, u := range l.units[w.start:w.end] {
			if u >= 0x0590 && u < 0x0900 || u >= 0xFB1D && u < 0xFE00 || u >= 0xFE70 && u < 0xFF00 {
				return true
			}
		}
	}
	return false
}

// box is the place of a character in points (1/72 inch), from the lower left
// corner, so top is the larger one.
type box struct{ left, right, bottom, top float64 }

func (b box) height() float64 { return b.top - b.bottom }

// with returns the box that encloses both boxes.
func (b box) with(c box) box {
	return box{min(b.left, c.left), max(b.right, c.right), min(b.bottom, c.bottom), max(b.top, c.top)}
}

// overlap returns how far two boxes overlap vertically, as a part of the smaller height. It is negative for boxes
// above one another.
func (b box) overlap(c box) float64 {
	height := min(b.height(), c.height())
	if height <= 0 {
		return 1
	}
	return (min(b.top, c.top) - max(b.bottom, c.bottom)) / height
}

// turned returns a box as it is for a reader who turns the page so that the text is upright.
func (b box) turned(turn int) box {
	switch turn {
	case 90: // upward
		return box{left: b.bottom, right: b.top, bottom: -b.right, top: -b.left}
	case 180: // upside down
		return box{left: -b.right, right: -b.left, bottom: -b.top, top: -b.bottom}
	case 270: // downward
		return box{left: -b.top, right: -b.bottom, bottom: b.left, top: b.right}
	}
	return b
}

// gap returns the distance of two boxes, whichever is at the left: some scripts
// run from right to left.
func gap(a, b box) float64 { return max(b.left-a.right, a.left-b.right) }

// adjoin reports whether two characters are close enough to belong to one word.
func (l *layout) adjoin(ctx context.Context, left, right, turn int) (bool, error) {
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
	a, b = a.turned(turn), b.turned(turn)
	between := (b.left - a.right) / api.DecodeF64(size)
	return min(a.top, b.top) > max(a.bottom, b.bottom) && between > -maxLetterGap && between < maxLetterGap, nil
}

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
// each one, so that characters of a line have the same height, for a text with a turn.
func (l *layout) lineBox(ctx context.Context, i, turn int) (box, error) {
	if askew(turn) {
		return l.slantedBox(ctx, i, turn)
	}
	ok, err := l.e.call(ctx, "FPDFText_GetLooseCharBox", l.text, uint64(i), uint64(l.scratch))
	if err != nil || ok == 0 {
		return box{}, err
	}
	b := l.e.rect(l.scratch)
	if b.bottom > b.top {
		b.bottom, b.top = b.top, b.bottom
	}
	if b.left > b.right {
		b.left, b.right = b.right, b.left
	}
	return b.turned(turn), nil
}

// rectSize is the size of an FS_RECTF of PDFium in bytes: four float32 in the order left, top, right, bottom.
const rectSize = 4 * 4

// rect reads an FS_RECTF from memory that was allocated.
func (e *Engine) rect(at uint32) (b box) {
	raw, _ := e.module.Memory().Read(at, rectSize)
	for i, v := range []*float64{&b.left, &b.top, &b.right, &b.bottom} {
		*v = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return b
}

// slantedBox returns about the same for a text that is askew, from the origin of the character, since the boxes of PDFium
// are not turned. PDFium writes two float64, x and y.
func (l *layout) slantedBox(ctx context.Context, i, turn int) (box, error) {
	const width, ascent, descent = 0.5, 1, 0.2 // of a character, as parts of the font size
	ok, err := l.e.call(ctx, "FPDFText_GetCharOrigin", l.text, uint64(i), uint64(l.scratch), uint64(l.scratch+8))
	if err != nil || ok == 0 {
		return box{}, err
	}
	x, _ := l.e.module.Memory().ReadFloat64Le(l.scratch) // scratch was allocated
	y, _ := l.e.module.Memory().ReadFloat64Le(l.scratch + 8)
	raw, err := l.e.call(ctx, "FPDFText_GetFontSize", l.text, uint64(i))
	size := api.DecodeF64(raw)
	sin, cos := math.Sincos(float64(turn) * math.Pi / 180)
	along, up := x*cos+y*sin, y*cos-x*sin
	return box{left: along, right: along + width*size, bottom: up - descent*size, top: up + ascent*size}, err
}
