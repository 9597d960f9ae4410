package nodes

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"sluice/flow"
)

// How far apart characters may be, in parts of their size.
const (
	wordGap      = 0.17 // more is a space between words; letters are drawn together by less
	cellGap      = 1.6  // more is a tab between the cells of a table
	lineShift    = 0.45 // less is a raised or lowered character of the same line
	paragraphGap = 1.75 // more is an empty line between paragraphs
)

// pdfLayout puts characters together to lines, in the order in which they are
// drawn: that keeps columns apart, which their places alone would mix.
type pdfLayout struct {
	out strings.Builder
	// Where the last character ended, in the direction of its writing and across
	// it; the direction; and its size.
	along, across, size float64
	dx, dy              float64
	started             bool
}

// printForms are ligatures that fonts draw as one character.
var printForms = strings.NewReplacer("\uFB00", "ff", "\uFB01", "fi", "\uFB02", "fl", "\uFB03", "ffi", "\uFB04", "ffl", "\uFB05", "st", "\uFB06", "st", "\u00A0", " ", "\u00AD", "")

// add appends a character that is drawn at a place; width is in parts of the
// size.
func (l *pdfLayout) add(text string, at pdfMatrix, width float64) {
	length := math.Hypot(at[0], at[1])
	size := math.Hypot(at[2], at[3])
	if length == 0 || size == 0 || l.out.Len() > flow.MaxTextBytes {
		return
	}
	dx, dy := at[0]/length, at[1]/length
	along, across := at[4]*dx+at[5]*dy, at[5]*dx-at[4]*dy
	text = clean(text)
	if text != "" && strings.TrimSpace(text) != "" {
		l.separate(along, across, max(size, 0.1), dx, dy)
	} else if text != "" && l.onLine(across, size, dx, dy) && !l.ends(" \t\n") {
		l.out.WriteByte(' ')
		text = ""
	} else {
		text = ""
	}
	l.out.WriteString(text)
	if text != "" || l.started && l.onLine(across, size, dx, dy) {
		l.along = along + width*length
	}
	if text != "" {
		l.across, l.size, l.dx, l.dy, l.started = across, max(size, 0.1), dx, dy, true
	}
}

// clean is the text of a character without what nobody can read.
func clean(text string) string {
	text = printForms.Replace(strings.ToValidUTF8(text, ""))
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

func (l *pdfLayout) onLine(across, size, dx, dy float64) bool {
	return l.started && dx*l.dx+dy*l.dy > 0.99 && math.Abs(across-l.across) < lineShift*max(size, l.size)
}

// separate writes what stands between the last character and the next.
func (l *pdfLayout) separate(along, across, size, dx, dy float64) {
	switch gap := along - l.along; {
	case !l.started:
	case l.onLine(across, size, dx, dy) && gap > -4*l.size:
		if gap > cellGap*l.size {
			l.out.WriteString("\t")
		} else if math.Abs(gap) > wordGap*min(size, l.size) && gap > 0 && !l.ends(" \t\n") {
			l.out.WriteByte(' ')
		}
	case math.Abs(across-l.across) > paragraphGap*max(size, l.size) || dx*l.dx+dy*l.dy < 0.99:
		l.out.WriteString("\n\n")
	default:
		l.out.WriteString("\n")
	}
}

func (l *pdfLayout) ends(with string) bool {
	s := l.out.String()
	return s == "" || strings.IndexByte(with, s[len(s)-1]) >= 0
}

// blanksBeforeBreak are blanks that were drawn at the end of a line or a cell.
var blanksBeforeBreak = strings.NewReplacer(" \n", "\n", " \t", "\t")

// String is the text so far.
func (l *pdfLayout) String() string {
	return strings.TrimSpace(blanksBeforeBreak.Replace(l.out.String()))
}
