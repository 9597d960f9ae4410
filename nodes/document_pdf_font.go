package nodes

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ledongthuc/pdf"
	"golang.org/x/text/encoding/charmap"
)

// maxPDFMap is how many entries a font's map to Unicode may have.
const maxPDFMap = 1 << 17

// pdfFont turns the bytes of a shown string into characters and widths.
type pdfFont struct {
	composite bool
	toUnicode map[string]string // by the bytes of a code
	lengths   []int             // of codes in bytes, shorter ones first
	simple    [256]string       // of a simple font without an entry in toUnicode
	widths    map[int]float64   // by code, in thousandths of the size
	width     float64           // of the others
}

// pdfGlyph is one shown character.
type pdfGlyph struct {
	text  string
	width float64 // in thousandths of the size
	blank bool    // the single byte 32, which word spacing applies to
}

func newPDFFont(v pdf.Value) *pdfFont {
	f := &pdfFont{composite: v.Key("Subtype").Name() == "Type0", widths: map[int]float64{}, toUnicode: map[string]string{}}
	if m := v.Key("ToUnicode"); m.Kind() == pdf.Stream {
		f.readToUnicode(streamData(m))
	}
	if f.composite {
		f.readComposite(v)
		return f
	}
	f.lengths = []int{1}
	f.readSimple(v)
	return f
}

// readComposite reads the widths of a font whose codes take two bytes, unless
// its map says otherwise.
func (f *pdfFont) readComposite(v pdf.Value) {
	if len(f.lengths) == 0 {
		f.lengths = []int{2}
	}
	font := v.Key("DescendantFonts").Index(0)
	f.width = 1000
	if dw := font.Key("DW"); !dw.IsNull() {
		f.width = dw.Float64()
	}
	w := font.Key("W")
	for i := 0; i+1 < w.Len() && len(f.widths) < maxPDFMap; {
		first := int(w.Index(i).Int64())
		if list := w.Index(i + 1); list.Kind() == pdf.Array {
			for j := range list.Len() {
				f.widths[first+j] = list.Index(j).Float64()
			}
			i += 2
			continue
		}
		for code := first; code <= int(w.Index(i+1).Int64()) && len(f.widths) < maxPDFMap; code++ {
			f.widths[code] = w.Index(i + 2).Float64()
		}
		i += 3
	}
}

// typicalWidth is about the mean of Latin letters, for the standard fonts whose
// widths a file need not hold.
const typicalWidth = 500

func (f *pdfFont) readSimple(v pdf.Value) {
	f.width = typicalWidth
	if missing := v.Key("FontDescriptor").Key("MissingWidth").Float64(); missing > 0 {
		f.width = missing
	}
	if strings.Contains(v.Key("BaseFont").Name(), "Courier") {
		f.width = 600
	}
	font := pdf.Font{V: v}
	scale := 1.0
	if m := v.Key("FontMatrix"); v.Key("Subtype").Name() == "Type3" && m.Len() == 6 {
		scale = 1000 * m.Index(0).Float64() // such fonts measure in units of their own
	}
	first := font.FirstChar()
	for i, w := range font.Widths() {
		if i > 255 {
			break
		}
		f.widths[first+i] = w * scale
	}
	encoding := font.Encoder()
	for c := range f.simple {
		f.simple[c] = simpleRune(encoding, byte(c))
	}
}

// simpleRune decodes one byte. What the package leaves as it is, is Windows-1252
// far more often than Latin-1.
func simpleRune(encoding pdf.TextEncoding, c byte) string {
	s := encoding.Decode(string([]byte{c}))
	if s == string(rune(c)) || !utf8.ValidString(s) {
		return string(charmap.Windows1252.DecodeByte(c))
	}
	return s
}

// glyphs decodes a shown string.
func (f *pdfFont) glyphs(s pdfString) []pdfGlyph {
	list := make([]pdfGlyph, 0, len(s))
	for len(s) > 0 {
		code := f.code(string(s))
		s = s[len(code):]
		n := 0
		for _, c := range []byte(code) {
			n = n<<8 | int(c)
		}
		width, known := f.widths[n]
		if !known {
			width = f.width
		}
		text, known := f.toUnicode[code]
		if !known && !f.composite {
			text = f.simple[n&0xff]
		}
		list = append(list, pdfGlyph{text: text, width: width, blank: code == " "})
	}
	return list
}

// code is the first code in s: the shortest that the map knows, or else one of
// the usual length.
func (f *pdfFont) code(s string) string {
	for _, n := range f.lengths {
		if _, known := f.toUnicode[s[:min(n, len(s))]]; known && n <= len(s) {
			return s[:n]
		}
	}
	return s[:min(f.lengths[len(f.lengths)-1], len(s))]
}

// readToUnicode reads a character map: which codes stand for which text.
func (f *pdfFont) readToUnicode(data []byte) {
	tokens := &pdfTokens{data: data}
	var args []any
	for {
		token, ok := tokens.next(0)
		if !ok {
			return
		}
		op, isOp := token.(pdfOperator)
		if !isOp {
			args = append(args, token)
			continue
		}
		switch op {
		case "endcodespacerange":
			f.addLengths(args)
		case "endbfchar":
			for i := 0; i+1 < len(args); i += 2 {
				f.mapCode(args[i], utf16Text(args[i+1]))
			}
		case "endbfrange":
			for i := 0; i+2 < len(args); i += 3 {
				f.mapRange(args[i], args[i+1], args[i+2])
			}
		}
		args = args[:0]
	}
}

func (f *pdfFont) addLengths(args []any) {
	known := map[int]bool{}
	for _, n := range f.lengths {
		known[n] = true
	}
	for _, arg := range args {
		if s, ok := arg.(pdfString); ok {
			known[len(s)] = true
		}
	}
	f.lengths = f.lengths[:0]
	for n := 1; n <= 4; n++ {
		if known[n] {
			f.lengths = append(f.lengths, n)
		}
	}
}

func (f *pdfFont) mapCode(code any, text string) {
	if s, ok := code.(pdfString); ok && len(s) > 0 && len(s) <= 4 && len(f.toUnicode) < maxPDFMap {
		f.toUnicode[string(s)] = text
	}
}

// mapRange maps codes that follow each other, to a list of texts or to texts
// that follow each other.
func (f *pdfFont) mapRange(low, high, to any) {
	lo, okLow := low.(pdfString)
	hi, okHigh := high.(pdfString)
	if !okLow || !okHigh || len(lo) != len(hi) || len(lo) == 0 {
		return
	}
	list, isList := to.([]any)
	text := []rune(utf16Text(to))
	for i := 0; i <= 0xffff && len(f.toUnicode) < maxPDFMap; i++ {
		code, ok := codeAfter(lo, i)
		if !ok || code > hi {
			return
		}
		switch {
		case isList && i < len(list):
			f.mapCode(code, utf16Text(list[i]))
		case !isList && len(text) > 0:
			last := len(text) - 1
			f.mapCode(code, string(text[:last])+string(text[last]+rune(i)))
		}
	}
}

// codeAfter is the code n places after s.
func codeAfter(s pdfString, n int) (code pdfString, ok bool) {
	b := []byte(s)
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		n += int(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	return pdfString(b), n == 0
}

// utf16Text is the text of an entry in a map.
func utf16Text(v any) string {
	s, _ := v.(pdfString)
	if len(s) == 1 {
		return string(rune(s[0]))
	}
	units := make([]uint16, 0, len(s)/2)
	for i := 0; i+1 < len(s); i += 2 {
		units = append(units, uint16(s[i])<<8|uint16(s[i+1]))
	}
	return string(utf16.Decode(units))
}
