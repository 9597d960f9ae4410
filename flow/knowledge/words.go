package knowledge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord is the length in bytes beyond which a word is cut. Longer ones are rarely words.
const maxWord = 64

// Words calls yield for each word of a text as indexes and queries have it: normalized, without case and accents, and
// without light English endings. An identifier such as idempotency_mismatch occurs whole and in its parts. Scripts without
// spaces between words are cut into pairs of characters. Korean words occur whole and in pairs, because particles follow nouns
// without a space: 학교 is found in 학교는.
func Words(text string, yield func(word string)) {
	eachWordOf(text, yield, nil)
}

// eachWordOf is Words that also calls last, if it is not nil, for the last character of each run without spaces. It is the only
// character that begins no pair, and a query of one character looks for beginnings.
func eachWordOf(text string, yield, last func(word string)) {
	text = fold(text)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isDense(r):
			i = pairs(text, i, yield, last)
		case isWordRune(r):
			i = identifier(text, i, yield)
		default:
			i += size
		}
	}
}

// WordList returns the words of a text in order, with repetitions.
func WordList(text string) (list []string) {
	Words(text, func(w string) { list = append(list, w) })
	return list
}

// fold normalizes a text by NFKC and removes case, the accents of Latin, Greek and Cyrillic letters, and the vowel points of Arabic
// and Hebrew, whose letters that many people write alike become one. A hyphen at the end of a camel hump is inserted first:
// runOptions is the identifier run-options.
func fold(text string) string {
	text = splitHumps(text)
	if isASCII(text) {
		return strings.ToLower(text)
	}
	text = cases.Fold().String(norm.NFKC.String(text))
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if r >= 0xC0 && r < 0x590 || r >= 0x1E00 && r < 0x2000 { // letters with accents
			r, _ = utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		} else if r >= 0x300 && r < 0x370 {
			continue // an accent that no letter combines with
		} else if r >= 0x591 && r < 0x6F0 {
			if unicode.Is(unicode.Mn, r) || r == 'ـ' { // the last lengthens a word
				continue
			}
			if alike, ok := semitic[r]; ok {
				r = alike
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

// semitic has letters of Arabic that are often written as another.
var semitic = map[rune]rune{'أ': 'ا', 'إ': 'ا', 'آ': 'ا', 'ٱ': 'ا', 'ى': 'ي', 'ة': 'ه'}

// splitHumps inserts a hyphen before each capital letter that follows a small one.
func splitHumps(text string) string {
	var b strings.Builder
	from := 0
	for i := 1; i < len(text); i++ {
		if c, before := text[i], text[i-1]; c >= 'A' && c <= 'Z' && before >= 'a' && before <= 'z' {
			b.WriteString(text[from:i])
			b.WriteByte('-')
			from = i
		}
	}
	if from == 0 {
		return text
	}
	b.WriteString(text[from:])
	return b.String()
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isDense reports whether a character belongs to a script that puts no spaces between words.
func isDense(r rune) bool {
	return r >= 0xE00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == 'ー'
}

func isWordRune(r rune) bool {
	return r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9') || r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// isHangul reports whether a character is a syllable of Korean.
func isHangul(r rune) bool { return r >= 0xAC00 && r <= 0xD7A3 }

// isSingle reports whether a word is one character that may be a word, or the beginning of one, in a language that is cut into pairs.
func isSingle(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && (isDense(r) || isHangul(r))
}

// pairs yields each two neighbors of a run of dense characters, and returns where the run ends.
func pairs(text string, at int, yield, last func(string)) int {
	start, before, n := at, at, 0
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !isDense(r) {
			break
		}
		if n++; n > 1 {
			yield(text[before : at+size])
		}
		before, at = at, at+size
	}
	if n == 1 {
		yield(text[start:at])
	} else if last != nil {
		last(text[before:at])
	}
	return at
}

// korean yields the stretches of Hangul in a word in pairs, and the stretches of other letters whole: API를 has api. A word of one
// stretch that yields itself yields nothing.
func korean(word string, yield func(string)) {
	for at := 0; at < len(word); {
		r, _ := utf8.DecodeRuneInString(word[at:])
		end := at
		for hangul := isHangul(r); end < len(word) && isHangul(r) == hangul; {
			_, size := utf8.DecodeRuneInString(word[end:])
			end += size
			r, _ = utf8.DecodeRuneInString(word[end:])
		}
		const syllable = 3 // bytes
		switch stretch := word[at:end]; {
		case !strings.ContainsFunc(stretch, isHangul):
			yield(stem(stretch))
		case len(stretch) > 2*syllable:
			for i := 0; i+2*syllable <= len(stretch); i += syllable {
				yield(stretch[i : i+2*syllable])
			}
		case len(stretch) < len(word):
			yield(stretch)
		}
		at = end
	}
}

// joins are the characters that join the parts of an identifier.
const joins = "_-./:@"

// identifier yields the parts of an identifier and, if there are several, the whole of it. It returns where that ends.
func identifier(text string, at int, yield func(string)) int {
	start, parts := at, 0
	for {
		from := at
		for at < len(text) {
			r, size := utf8.DecodeRuneInString(text[at:])
			if !isWordRune(r) || isDense(r) {
				break
			}
			at += size
		}
		if at == from {
			break
		}
		parts++
		part := cut(text[from:at])
		yield(stem(part))
		if strings.ContainsFunc(part, isHangul) {
			korean(part, yield)
		}
		if at+1 >= len(text) || !strings.ContainsRune(joins, rune(text[at])) {
			break
		}
		if next, _ := utf8.DecodeRuneInString(text[at+1:]); !isWordRune(next) || isDense(next) {
			break
		}
		at++
	}
	if end := strings.TrimRight(text[start:at], joins); parts > 1 && len(end) <= maxWord {
		yield(end)
	}
	return at
}

// cut shortens a word to maxWord bytes of whole characters.
func cut(word string) string {
	for len(word) > maxWord {
		_, size := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-size]
	}
	return word
}

// stem removes light English endings: plurals, -ing, -ed and a final e. Other words stay as they are.
func stem(w string) string {
	if len(w) < 4 || !isASCII(w) || strings.ContainsAny(w, "0123456789") {
		return w
	}
	switch {
	case strings.HasSuffix(w, "ies"):
		w = w[:len(w)-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		w = w[:len(w)-1]
	}
	for _, ending := range []string{"ing", "ed"} {
		if short, ok := strings.CutSuffix(w, ending); ok && len(short) >= 3 && strings.ContainsAny(short, "aeiouy") {
			w = short
			if n := len(w); w[n-1] == w[n-2] && !strings.ContainsAny(w[n-1:], "lsz") {
				w = w[:n-1]
			}
			break
		}
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	if n := len(w); n > 3 && w[n-1] == 'i' {
		w = w[:n-1] + "y"
	}
	return w
}

// fillers are English words that say nothing about what a question is about.
var fillers = map[string]bool{}

func init() {
	for _, w := range strings.Fields("a an and are as at be been being by can could did do does for from had has have how i if in into is it its me my of on or our should so that the their them then there these they this to was we were what when where which who why will with would you your") {
		fillers[stem(w)], fillers[w] = true, true
	}
}

// QueryWords returns the words of a query. Those that say nothing are left out, unless there are no others.
func QueryWords(query string) (list []string) {
	all := WordList(query)
	for _, w := range all {
		if !fillers[w] {
			list = append(list, w)
		}
	}
	if len(list) == 0 {
		return all
	}
	return list
}
