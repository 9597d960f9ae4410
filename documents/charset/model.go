package charset

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed model.txt
var modelText string

// Costs in nats, natural units of information: the negative logarithm of a probability. Those of pairs and characters that
// the model has are its own.
const (
	costRarePair     = 7.5  // both letters are of the language, the pair is rare
	costOtherLetter  = 9.5  // a letter of another alphabet, or one that the language does not use
	costRareHan      = 9.5  // a character of the script that the model does not list
	costKana         = 5.0  // a half-width kana after another one
	costFirstKana    = 7.0  // a half-width kana that begins a word
	costSingleKana   = 11.0 // a half-width kana after another letter
	costOddHan       = 13.0 // a character that everyday texts do not have
	costSign         = 4.5  // a usual sign, such as a dash
	costOddSign      = 9.0  // a sign that is rare in texts
	costCapital      = 5.0  // a capital letter within a word
	costInvalid      = 30.0 // bytes that the encoding does not have, and control characters
	costForeign      = 20.0 // a text of another alphabet than that of the language
	costLatinEdge    = 4.0  // a Latin letter beside a Chinese, Japanese or Korean character
	costSignInWord   = 8.0  // a letter beside a sign that stands apart from letters
	costAlphabetEdge = 5.0  // a letter beside one of another alphabet
)

// language is the model of a language: costs of pairs of letters, or of characters.
type language struct {
	name    string
	pairs   map[[2]rune]float64 // nil for a language with costs of characters
	letters map[rune]bool
	latin   bool
	single  map[rune]float64
}

// models returns the languages by their names.
var models = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	for line := range strings.Lines(modelText) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		l := &language{name: fields[0], letters: map[rune]bool{}}
		if fields[1] == "pairs" {
			l.readPairs([]rune(fields[2]))
		} else {
			l.readCharacters([]rune(fields[2]))
		}
		all[l.name] = l
	}
	return all
})

// readPairs reads pairs of letters, each followed by its level.
func (l *language) readPairs(list []rune) {
	l.pairs = map[[2]rune]float64{}
	for ; len(list) > 2; list = list[3:] {
		l.pairs[[2]rune(list[:2])] = cost(list[2])
		for _, r := range list[:2] {
			l.letters[r] = true
			l.latin = l.latin || unicode.Is(unicode.Latin, r)
		}
	}
}

// readCharacters reads characters, each followed by its level.
func (l *language) readCharacters(list []rune) {
	l.single = map[rune]float64{}
	for ; len(list) > 1; list = list[2:] {
		l.single[list[0]] = cost(list[1])
	}
}

// cost returns the cost of a level, which is a quarter of a nat above A.
func cost(level rune) float64 { return float64(level-'A') / 4 }

// isLetter reports whether a character is a letter in the models: vowels of Thai and tones of Vietnamese are marks.
func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// usualSigns are signs that texts in all languages have.
const usualSigns = "“”„‘’‚«»‹›–—…•·€£§°©®™№¿¡²³½ªº×\u00A0\u200E\u200F"

// apartSigns are those usual signs that do not precede a letter directly.
const apartSigns = "€£§©®™²³½ª×·"

// quoteSigns are those usual signs that rarely stand between two letters.
const quoteSigns = "“”„‚«»‹›–—…•"

// cjkSigns are the signs of Chinese, Japanese and Korean texts.
const cjkSigns = "、。，．・：；？！（）「」『』【】〈〉《》〔〕“”‘’…—－～％＋／＝￥※○●◎△▲□■☆★→←↑↓々ー　"

// pairCost returns the cost of a text in a language with an alphabet, without pairs of ASCII characters, which do not tell
// encodings apart; see asciiPairs.
func (l *language) pairCost(text string) (total float64) {
	before, capital := ' ', false
	native, others := 0, 0
	var odd, apart bool // the last character is a sign that does not stand beside a letter
	for _, r := range text {
		now := r
		if !isLetter(r) {
			now = ' '
			c := signCost(r)
			if before != ' ' && c >= costOddSign {
				c += costSignInWord
			}
			total += c
		} else if odd || apart && r >= utf8.RuneSelf {
			total += costSignInWord
		}
		odd = now == ' ' && (signCost(r) >= costOddSign || before != ' ' && strings.ContainsRune(quoteSigns+apartSigns, r))
		apart = strings.ContainsRune(apartSigns, r)
		isCapital := unicode.IsUpper(now)
		lower := unicode.ToLower(now)
		if before >= utf8.RuneSelf || lower >= utf8.RuneSelf {
			total += l.pair(before, lower)
			if isCapital && before != ' ' && !capital {
				total += costCapital
			}
		}
		before, capital = lower, isCapital
		if r >= utf8.RuneSelf {
			others++
			if now != ' ' {
				native++
			}
		}
	}
	if !l.latin && native*2 < others { // a Latin text with a few signs, which nothing in it explains
		total += costForeign
	}
	return total
}

// asciiPairs counts the pairs of ASCII letters of a text. What is not a letter is a space.
func asciiPairs(text string) map[[2]rune]int {
	pairs := map[[2]rune]int{}
	before := ' '
	for _, r := range text {
		now := ' '
		if isLetter(r) {
			now = unicode.ToLower(r)
		}
		if before < utf8.RuneSelf && now < utf8.RuneSelf && (before != ' ' || now != ' ') {
			pairs[[2]rune{before, now}]++
		}
		before = now
	}
	return pairs
}

// asciiCost returns the cost of pairs of ASCII letters.
func (l *language) asciiCost(pairs map[[2]rune]int) (total float64) {
	for pair, n := range pairs {
		total += float64(n) * l.pair(pair[0], pair[1])
	}
	return total
}

// signCost returns the cost of a character that is not a letter. Signs of ASCII are free, since they are the same in all
// encodings.
func signCost(r rune) float64 {
	switch {
	case r < 0x7F:
		return 0
	case r < 0xA0 || r == utf8.RuneError:
		return costInvalid
	case strings.ContainsRune(usualSigns, r):
		return costSign
	}
	return costOddSign
}

// pair returns the cost of a letter after another one.
func (l *language) pair(a, b rune) float64 {
	if c, known := l.pairs[[2]rune{a, b}]; known {
		return c
	}
	foreign := func(r rune) bool { return r != ' ' && !l.letters[r] && (r >= utf8.RuneSelf || l.latin) }
	switch {
	case a >= utf8.RuneSelf && b > ' ' && b < utf8.RuneSelf && !l.latin, b >= utf8.RuneSelf && a > ' ' && a < utf8.RuneSelf && !l.latin:
		return costOtherLetter + costAlphabetEdge
	case foreign(b) && b >= utf8.RuneSelf:
		return costOtherLetter
	}
	return costRarePair
}

// characterCost returns the cost of a text in Chinese, Japanese or Korean. common reports whether the encoding lists a
// character among those of everyday texts.
func (l *language) characterCost(text string, common func(rune) bool) (total float64) {
	before := ' '
	for _, r := range text {
		edge := isLetter(r) && isLetter(before) && (r < utf8.RuneSelf) != (before < utf8.RuneSelf)
		last := before
		if before = r; edge {
			total += costLatinEdge
		}
		if r < utf8.RuneSelf {
			continue
		}
		c, known := l.single[r]
		switch {
		case known:
		case r == utf8.RuneError || r < 0xA0 || unicode.Is(unicode.Co, r):
			c = costInvalid
		case strings.ContainsRune(cjkSigns, r) || strings.ContainsRune(usualSigns, r):
			c = costSign
		case r >= 0xFF10 && r <= 0xFF19: // full-width digits
			c = costSign + 1
		case r >= 0xFF21 && r <= 0xFF5A: // full-width letters
			c = costOddSign
		case r >= 0xFF61 && r <= 0xFF9F: // half-width kana; only forms in capitals have them
			c = costFirstKana
			if last >= 0xFF61 && last <= 0xFF9F {
				c = costKana
			} else if isLetter(last) {
				c = costSingleKana
			}
		case !l.ofScript(r):
			c = costOddHan
		case common(r):
			c = costRareHan
		default:
			c = costOddHan
		}
		total += c
	}
	return total
}

// ofScript reports whether a character belongs to the script of the language.
func (l *language) ofScript(r rune) bool {
	switch l.name {
	case "ko":
		return unicode.Is(unicode.Hangul, r)
	case "ja":
		return unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r)
	}
	return unicode.Is(unicode.Han, r)
}
