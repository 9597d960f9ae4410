package builtin

import (
	"cmp"
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"sluice/flow/sorting"
)

// ErrNoLetters is returned for a text without letters, whose language cannot be detected.
var ErrNoLetters = errors.New("text holds no letters")

// Language is a language with the probability that a text is written in it.
type Language struct {
	Code  string  // ISO 639-1 where it has a code there, else ISO 639-3: en, but ckb
	Name  string  // in English
	Score float64 // from 0 to 1; those of all languages add up to 1
}

// loadLanguages reads the network at its first use, since most processes never need it.
var loadLanguages = sync.OnceValues(func() (*languageNet, error) { return parseLanguages(languageFile) })

// DetectLanguage returns all 50 languages that the network knows, the most likely first. It is a port of lande 1.0.10,
// which counts n-grams and so works on any script; a sentence is enough, a single word often is not.
//
// It returns ErrTooLong beyond MaxText and ErrNoLetters for a text without any.
func (m *Model) DetectLanguage(ctx context.Context, text string) ([]Language, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkLength(text); err != nil {
		return nil, err
	}
	net, err := loadLanguages()
	if err != nil {
		return nil, err
	}
	units := utf16Units(languageText(text))
	if len(units) <= len("  ") {
		return nil, ErrNoLetters
	}
	ranked := make([]Language, len(net.codes))
	for i, p := range net.probabilities(units) {
		ranked[i] = Language{Code: languageNames[net.codes[i]].code, Name: languageNames[net.codes[i]].name, Score: float64(p)}
	}
	sorting.By(ranked, func(a, b Language) int { return cmp.Compare(b.Score, a.Score) })
	return ranked, nil
}

// blank is what JavaScript treats as white space, which is more than Go does.
const blank = "[\\t\\n\\v\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}]"

var (
	// noLetters and the patterns below normalize a text as the network was trained:
	// letters and marks only, single blanks, and none at the ends.
	noLetters = regexp.MustCompile("[^\\p{L}\\p{M}" + strings.Trim(blank, "[]") + "]+")
	blanks    = regexp.MustCompile(blank + "{2,}")
	margins   = regexp.MustCompile("^" + blank + "+|" + blank + "+$")
)

// languageText normalizes a text as in the training of the network: letters and single blanks between two blanks, in
// lowercase by the rules of Unicode (Greek has a special sigma at the end of a word).
func languageText(text string) string {
	text = strings.ReplaceAll(text, "-", " ")
	text = noLetters.ReplaceAllString(text, "")
	text = blanks.ReplaceAllString(text, " ")
	text = cases.Lower(language.Und).String(text)
	return " " + margins.ReplaceAllString(text, "") + " "
}

// utf16Units returns a text in UTF-16, because the network was trained in JavaScript,
// where n-grams consist of UTF-16 units.
func utf16Units(s string) []uint16 { return utf16.Encode([]rune(s)) }

// ngramOf returns the map key of up to four UTF-16 units. Unused units are zero;
// languageText leaves no NUL in a text, so keys of different lengths differ.
func ngramOf(units []uint16) (g ngram) {
	copy(g[:], units)
	return g
}

// probabilities returns the output of the network for a text.
func (n *languageNet) probabilities(units []uint16) []float32 {
	hidden := n.hidden.apply(n.frequencies(units))
	for i := range hidden {
		hidden[i] = max(hidden[i], 0)
	}
	return shares(n.final.apply(hidden))
}

// frequencies returns the share of each n-gram among all n-grams of its length.
func (n *languageNet) frequencies(units []uint16) []float32 {
	input := make([]float32, n.inputs)
	for i, known := range n.ngrams {
		length := i + 1
		counts := map[int]int{}
		total := len(units) - length + 1
		for at := range max(total, 0) {
			if input, ok := known[ngramOf(units[at:at+length])]; ok {
				counts[input]++
			}
		}
		for at, count := range counts {
			input[at] = float32(float64(count) / float64(total))
		}
	}
	return input
}

// shares is the network's softmax, in double precision like its sums.
func shares(values []float32) []float32 {
	highest, sum := slices.Max(values), 0.0
	out := make([]float32, len(values))
	for i, v := range values {
		e := math.Exp(float64(v) - float64(highest))
		sum += e
		out[i] = float32(e)
	}
	for i := range out {
		out[i] = float32(float64(out[i]) / sum)
	}
	return out
}
