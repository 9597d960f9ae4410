package charset

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Encoding is a character encoding.
type Encoding struct {
	Name     string // as in the WHATWG Encoding Standard, where it has one
	encoding encoding.Encoding
}

// candidate is an encoding that Detect considers, with the languages that are written in it.
type candidate struct {
	Encoding
	languages []string
	common    func(rune) bool // for languages without an alphabet
	rarity    float64         // cost of an encoding that is rare today
}

var (
	western = []string{"en", "de", "fr", "es", "pt", "it", "nl", "sv", "da", "nb", "fi", "is", "ca", "et"}
	central = []string{"pl", "cs", "sk", "hu", "ro", "hr", "sl"}
	slavic  = []string{"ru", "uk", "bg", "sr", "mk", "be"}
)

// candidates are in the order of preference for texts that are the same in several of them. Windows' encodings come before
// those of ISO 8859, from which they differ in few characters.
var candidates = []candidate{
	{Encoding: Encoding{Name: "windows-1252", encoding: charmap.Windows1252}, languages: western},
	{Encoding: Encoding{Name: "windows-1250", encoding: charmap.Windows1250}, languages: central},
	{Encoding: Encoding{Name: "windows-1251", encoding: charmap.Windows1251}, languages: slavic},
	{Encoding: Encoding{Name: "windows-1253", encoding: charmap.Windows1253}, languages: []string{"el"}},
	{Encoding: Encoding{Name: "windows-1254", encoding: charmap.Windows1254}, languages: []string{"tr"}},
	{Encoding: Encoding{Name: "windows-1255", encoding: charmap.Windows1255}, languages: []string{"he"}},
	{Encoding: Encoding{Name: "windows-1256", encoding: charmap.Windows1256}, languages: []string{"ar", "fa"}},
	{Encoding: Encoding{Name: "windows-1257", encoding: charmap.Windows1257}, languages: []string{"lt", "lv", "et"}},
	{Encoding: Encoding{Name: "windows-1258", encoding: charmap.Windows1258}, languages: []string{"vi"}},
	{Encoding: Encoding{Name: "windows-874", encoding: charmap.Windows874}, languages: []string{"th"}},
	{Encoding: Encoding{Name: "gb18030", encoding: simplifiedchinese.GB18030}, languages: []string{"zh-Hans", "zh-Hant"}, common: commonIn(simplifiedchinese.GBK, 0xB0, 0xD7, 0xA1)},
	{Encoding: Encoding{Name: "big5", encoding: traditionalchinese.Big5}, languages: []string{"zh-Hant"}, common: commonIn(traditionalchinese.Big5, 0xA4, 0xC6, 0x40)},
	{Encoding: Encoding{Name: "shift_jis", encoding: japanese.ShiftJIS}, languages: []string{"ja"}, common: commonIn(japanese.ShiftJIS, 0x82, 0x97, 0x40)},
	{Encoding: Encoding{Name: "euc-jp", encoding: japanese.EUCJP}, languages: []string{"ja"}, common: commonIn(japanese.EUCJP, 0xA4, 0xCF, 0xA1)},
	{Encoding: Encoding{Name: "euc-kr", encoding: korean.EUCKR}, languages: []string{"ko"}, common: commonIn(korean.EUCKR, 0xB0, 0xC8, 0xA1)},
	{Encoding: Encoding{Name: "iso-8859-2", encoding: charmap.ISO8859_2}, languages: central},
	{Encoding: Encoding{Name: "iso-8859-5", encoding: charmap.ISO8859_5}, languages: slavic},
	{Encoding: Encoding{Name: "iso-8859-6", encoding: charmap.ISO8859_6}, languages: []string{"ar"}},
	{Encoding: Encoding{Name: "iso-8859-7", encoding: charmap.ISO8859_7}, languages: []string{"el"}},
	{Encoding: Encoding{Name: "iso-8859-8", encoding: charmap.ISO8859_8}, languages: []string{"he"}},
	{Encoding: Encoding{Name: "iso-8859-13", encoding: charmap.ISO8859_13}, languages: []string{"lt", "lv", "et"}},
	{Encoding: Encoding{Name: "koi8-r", encoding: charmap.KOI8R}, languages: []string{"ru", "bg"}},
	{Encoding: Encoding{Name: "koi8-u", encoding: charmap.KOI8U}, languages: []string{"ru", "uk"}},
	{rarity: 3, Encoding: Encoding{Name: "ibm866", encoding: charmap.CodePage866}, languages: slavic},
	{rarity: 1, Encoding: Encoding{Name: "x-mac-cyrillic", encoding: charmap.MacintoshCyrillic}, languages: slavic},
	{rarity: 1, Encoding: Encoding{Name: "macintosh", encoding: charmap.Macintosh}, languages: western},
	{rarity: 3, Encoding: Encoding{Name: "ibm850", encoding: charmap.CodePage850}, languages: western},
	{rarity: 3, Encoding: Encoding{Name: "ibm852", encoding: charmap.CodePage852}, languages: central},
}

// commonIn returns a function that reports whether an encoding has a character between two lead bytes, with a trail byte
// of at least trail. The standards of East Asia list the characters of everyday texts first, apart from the rare ones.
func commonIn(e encoding.Encoding, from, to, trail byte) func(rune) bool {
	return func(r rune) bool {
		b, err := e.NewEncoder().Bytes([]byte(string(r)))
		return err == nil && len(b) == 2 && b[0] >= from && b[0] <= to && b[1] >= trail
	}
}

// Lookup returns the encoding with a name, such as "gbk", "latin1" or "windows-1251", in any case.
func Lookup(name string) (Encoding, error) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "utf-32", "utf-32le":
		return Encoding{name, utf32.UTF32(utf32.LittleEndian, utf32.UseBOM)}, nil
	case "utf-32be":
		return Encoding{name, utf32.UTF32(utf32.BigEndian, utf32.UseBOM)}, nil
	case "utf-16": // Unicode says big endian without a mark; nearly all such files are little endian
		return Encoding{name, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)}, nil
	}
	e, err := htmlindex.Get(name)
	if err != nil {
		if e, err = ianaindex.IANA.Encoding(name); err != nil || e == nil {
			return Encoding{}, fmt.Errorf("there is no encoding %q; names are such as utf-8, gbk or windows-1251", name)
		}
		return Encoding{name, e}, nil
	}
	if official, err := htmlindex.Name(e); err == nil {
		name = official
	}
	return Encoding{name, e}, nil
}

// hasAccents reports whether an encoding has accents as characters of their own, which Decode joins with their letters.
func (e Encoding) hasAccents() bool { return e.Name == "windows-1258" }

// Decode converts text to UTF-8 without a byte order mark. Invalid bytes become U+FFFD.
func (e Encoding) Decode(data []byte) string {
	out, err := e.encoding.NewDecoder().Bytes(data)
	if err != nil {
		out = data
	}
	if e.hasAccents() {
		out = norm.NFC.Bytes(out)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\uFEFF")
}

// Reader converts text to UTF-8 without a byte order mark as it is read. Invalid bytes become U+FFFD.
func (e Encoding) Reader(r io.Reader) io.Reader {
	if e.Name == "utf-8" {
		return transform.NewReader(r, unicode.UTF8BOM.NewDecoder())
	}
	decoder := transform.Transformer(e.encoding.NewDecoder())
	if e.hasAccents() {
		decoder = transform.Chain(decoder, norm.NFC)
	}
	return transform.NewReader(r, transform.Chain(decoder, unicode.BOMOverride(encoding.Nop.NewDecoder())))
}

// Marked returns the encoding that a byte order mark at the beginning states.
func Marked(data []byte) (Encoding, bool) {
	for _, m := range []struct{ mark, name string }{
		{"\xff\xfe\x00\x00", "utf-32le"}, {"\x00\x00\xfe\xff", "utf-32be"}, {"\xef\xbb\xbf", "utf-8"}, {"\xff\xfe", "utf-16le"}, {"\xfe\xff", "utf-16be"},
	} {
		if bytes.HasPrefix(data, []byte(m.mark)) {
			e, err := Lookup(m.name)
			return e, err == nil
		}
	}
	return Encoding{}, false
}

// Detect returns the likely encoding of a text that is not UTF-8. If isHTML is set, tags do not count. It reads
// some thousand bytes only, those around characters beyond ASCII.
func Detect(data []byte, isHTML bool) Encoding {
	sample := sampleOf(data, isHTML)
	best, least := Encoding{}, math.Inf(1)
	for i, c := range candidates {
		text := decodeSample(c.encoding, sample)
		if cost := c.cost(text) + c.rarity + 0.1*float64(i); cost < least {
			best, least = c.Encoding, cost
		}
	}
	return best
}

// Detected7Bit returns the encoding of a text of ASCII bytes that switches character sets by escape sequences: ISO-2022-JP,
// in which Japanese mail is written.
func Detected7Bit(data []byte) (Encoding, bool) {
	for _, escape := range []string{"\x1b$B", "\x1b$@", "\x1b(J"} {
		if bytes.Contains(data, []byte(escape)) && bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
			return Encoding{"iso-2022-jp", japanese.ISO2022JP}, true
		}
	}
	return Encoding{}, false
}

// decodeSample decodes a sample. Unlike Decode it leaves tones apart from letters, as the models have them.
func decodeSample(e encoding.Encoding, sample []byte) string {
	out, err := e.NewDecoder().Bytes(sample)
	if err != nil {
		return string(utf8.RuneError)
	}
	return string(out)
}

// cost returns the cost of a text in the language that fits best.
func (c candidate) cost(text string) float64 {
	least := math.Inf(1)
	var ascii *asciiEvidence
	for _, name := range c.languages {
		l := models()[name]
		if l.pairs == nil {
			least = min(least, l.characterCost(text, c.common))
			continue
		}
		total := l.pairCost(text)
		if l.latin {
			if ascii == nil {
				ascii = asciiCosts(text)
			}
			total += ascii.relative(l)
		}
		least = min(least, total)
	}
	return least
}

// asciiEvidence is what the ASCII letters of a text say about its language.
type asciiEvidence struct {
	pairs         map[[2]rune]int
	least, weight float64
}

// asciiCosts compares the ASCII letters of a text with all Latin alphabets.
func asciiCosts(text string) *asciiEvidence {
	e := &asciiEvidence{pairs: asciiPairs(text), least: math.Inf(1)}
	for _, l := range models() {
		if l.latin {
			e.least = min(e.least, l.asciiCost(e.pairs))
		}
	}
	all, others := 0, 0
	for _, r := range text {
		if all++; r >= utf8.RuneSelf {
			others++
		}
	}
	e.weight = min(1, 12*float64(others)/float64(max(1, all)))
	return e
}

// relative returns how much worse than the best language another one explains the ASCII letters. Where they are many, they
// do not outweigh the other characters.
func (e *asciiEvidence) relative(l *language) float64 {
	return (l.asciiCost(e.pairs) - e.least) * e.weight
}

// maxSample is the size of a sample in bytes.
const maxSample = 6 << 10

// sampleOf returns the lines of a text that have characters beyond ASCII, up to maxSample.
func sampleOf(data []byte, isHTML bool) []byte {
	const maxScanned = 4 << 20
	data = data[:min(len(data), maxScanned)]
	if isHTML {
		data = withoutTags(data)
	}
	var b []byte
	for line := range bytes.FieldsFuncSeq(data, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if !slices.ContainsFunc(line, func(c byte) bool { return c >= utf8.RuneSelf }) {
			continue
		}
		if len(b)+len(line) > maxSample {
			b = append(b, line[:maxSample-len(b)]...)
			break
		}
		b = append(append(b, line...), '\n')
	}
	return b
}

// withoutTags replaces tags by a space. It is only for counting.
func withoutTags(data []byte) []byte {
	out := make([]byte, 0, len(data))
	inTag := false
	for i, c := range data {
		switch {
		case c == '<' && i+1 < len(data) && (data[i+1] == '/' || data[i+1] == '!' || data[i+1]|0x20 >= 'a' && data[i+1]|0x20 <= 'z'):
			inTag = true
			out = append(out, ' ')
		case c == '>' && inTag:
			inTag = false
		case !inTag:
			out = append(out, c)
		}
	}
	return out
}

// UTF16 returns the byte order of a text in UTF-16 without a byte order mark, if data is one: its units are mostly
// characters of texts, and it has a zero byte, as line ends and spaces do. What is UTF-8 with a few stray zero bytes is not: letters of
// ASCII in pairs look like Chinese.
func UTF16(data []byte) (Encoding, bool) {
	const maxChecked = 64 << 10
	head := data[:min(len(data), maxChecked)&^1]
	if len(data)%2 != 0 || len(head) < 4 || bytes.IndexByte(head, 0) < 0 {
		return Encoding{}, false
	}
	if 4*bytes.Count(head, []byte{0}) < len(head) && isPlainUTF8(head) {
		return Encoding{}, false
	}
	little, big := oddUnits(head, 0), oddUnits(head, 1)
	name, odd := "utf-16le", little
	if big < little {
		name, odd = "utf-16be", big
	}
	if odd*20 > len(head)/2 {
		return Encoding{}, false
	}
	e, err := Lookup(name)
	return e, err == nil
}

// isPlainUTF8 reports whether data is UTF-8, whose last character may be cut, without control characters except zero and spaces. Many
// alphabets in UTF-16 have some: each letter of Cyrillic has a byte 4.
func isPlainUTF8(data []byte) bool {
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 {
			return !utf8.FullRune(data)
		}
		if r < ' ' && r != 0 && (r < '\t' || r > '\r') {
			return false
		}
		data = data[size:]
	}
	return true
}

// oddUnits returns how many units of UTF-16 are no characters that texts have. low is the index of the low byte of a unit:
// 0 for little endian.
func oddUnits(data []byte, low int) (odd int) {
	for i := 0; i+1 < len(data); i += 2 {
		u := rune(data[i+1-low])<<8 | rune(data[i+low])
		switch {
		case u == '\n' || u == '\r' || u == '\t' || u == 0x3000 || utf16.IsSurrogate(u):
		case u < ' ' || u >= 0x7F && u < 0xA0 || u >= 0xE000 && u < 0xF900 || u >= 0xFFF0:
			odd++
		case u&0xFF == 0: // ASCII in the other byte order
			odd++
		}
	}
	return odd
}
