package builtin

import (
	"bufio"
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jonreiter/govader/data"
)

// vader scores single sentences with VADER (Hutto and Gilbert, 2014; MIT
// license). The lexicon and the rules are those of github.com/jonreiter/govader.
// That library itself is not used because it links a linear algebra package to
// add up a slice.
type vader struct {
	words map[string]float64 // valence by word or emoticon, from -4 to 4
	emoji map[rune]string    // description by emoji
}

// newVader parses the lexicon: 7,500 words and 3,500 emoji.
func newVader() *vader {
	v := &vader{words: map[string]float64{}, emoji: map[rune]string{}}
	eachLine("rawdata/vaderLexicon.txt", func(word, valence string) {
		v.words[word], _ = strconv.ParseFloat(valence, 64)
	})
	eachLine("rawdata/emojiUTF8Lexicon.txt", func(emoji, description string) {
		if r := []rune(emoji); len(r) == 1 { // sequences are never matched
			v.emoji[r[0]] = description
		}
	})
	return v
}

// eachLine calls f with the first two columns of each line of a lexicon.
func eachLine(asset string, f func(first, second string)) {
	lines := bufio.NewScanner(bytes.NewReader(data.MustAsset(asset)))
	for lines.Scan() {
		columns := strings.Split(lines.Text(), "\t")
		f(columns[0], columns[1])
	}
}

// Weights of the rules, found empirically by VADER's authors.
const (
	boost           = 0.293 // of a booster word such as "very"
	capitals        = 0.733 // of a word in capitals among others that are not
	negation        = -0.74
	neverSo         = 1.25 // of "never so" and "never this"
	beforeBut       = 0.5
	afterBut        = 1.5
	exclamation     = 0.292
	maxExclamations = 4
	question        = 0.18
	maxQuestions    = 3
	manyQuestions   = 0.96
	normalization   = 15 // approximates the largest expected sum of valences
)

// distanceScale weakens booster words by their distance from the scored word.
var distanceScale = [3]float64{1, 0.95, 0.9}

// negations are words that invert the sentiment of the words after them. The list is
// that of the reference implementation.
var negations = setOf(`aint arent cannot cant couldnt darent didnt doesnt ain't aren't can't couldn't daren't didn't doesn't
	dont hadnt hasnt havent isnt mightnt mustnt neither don't hadn't hasn't haven't isn't mightn't mustn't
	neednt needn't never none nope nor not nothing nowhere oughtnt shant shouldnt uhuh wasnt werent
	oughtn't shan't shouldn't uh-uh wasn't weren't without wont wouldnt won't wouldn't rarely seldom despite`)

var (
	amplifiers = setOf(`absolutely amazingly awfully completely considerable considerably decidedly deeply effing enormous
		enormously entirely especially exceptional exceptionally extreme extremely fabulously flipping flippin frackin fracking
		fricking frickin frigging friggin fully fuckin fucking fuggin fugging greatly hella highly hugely incredible incredibly
		intensely major majorly more most particularly purely quite really remarkably so substantially thoroughly total totally
		tremendous tremendously uber unbelievably unusually utter utterly very`)
	dampeners = setOf(`almost barely hardly kinda kindof kind-of less little marginal marginally occasional occasionally
		partly scarce scarcely slight slightly somewhat sorta sortof sort-of`)
	// dampeningPhrases count only directly before the scored word.
	dampeningPhrases = []string{"just enough", "kind of", "sort of"}
)

// idioms replace the valence of the word that they contain or follow.
var idioms = map[string]float64{
	"the shit": 3, "the bomb": 3, "bad ass": 1.5, "badass": 1.5, "yeah right": -2, "kiss of death": -1.5, "to die for": 3,
}

// setOf returns the set of the words in a text, which are separated by white space.
func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// boosterOf returns what a booster word adds to the valence of a later word.
func boosterOf(word string) float64 {
	switch {
	case amplifiers[word]:
		return boost
	case dampeners[word], slices.Contains(dampeningPhrases, word):
		return -boost
	}
	return 0
}

// tokens are the words of a sentence.
type tokens struct {
	words, lower []string
	mixedCase    bool // some words are in capitals, and some are not
}

// newTokens splits a text at single spaces, as the reference implementation does.
// Capitals are emphasis only if other words of the text are without them (mixedCase).
func newTokens(text string) tokens {
	var t tokens
	inCapitals := 0
	for _, word := range strings.Split(text, " ") {
		word = trimPunctuation(word)
		if isUpper(word) {
			inCapitals++
		}
		t.words, t.lower = append(t.words, word), append(t.lower, strings.ToLower(word))
	}
	t.mixedCase = inCapitals > 0 && inCapitals < len(t.words)
	return t
}

// trimPunctuation keeps short tokens whole: they may be emoticons.
func trimPunctuation(token string) string {
	if word := strings.Trim(token, `"!#$%&\'()*+,-./:;<=>?@[]^_`+"`{|}~"); len(word) >= 3 {
		return word
	}
	return token
}

var (
	// lowerLetter and upperLetter know only ASCII, as the original does: its lexicon is
	// English.
	lowerLetter = regexp.MustCompile("[a-z]")
	upperLetter = regexp.MustCompile("[A-Z]")
)

// isUpper reports whether a word has capital letters and no small ones; digits and
// signs do not matter.
func isUpper(word string) bool {
	return !lowerLetter.MatchString(word) && upperLetter.MatchString(word)
}

// score returns the sentiment of one sentence whose words are separated by
// single spaces.
func (v *vader) score(text string) Sentiment {
	text = strings.TrimSpace(v.describeEmoji(text))
	t := newTokens(text)
	valences := make([]float64, len(t.words))
	for i, word := range t.lower {
		if boosterOf(word) == 0 && !(word == "kind" && i+1 < len(t.lower) && t.lower[i+1] == "of") {
			valences[i] = v.valence(t, i)
		}
	}
	weighBut(t.lower, valences)
	return combine(valences, emphasis(text))
}

// describeEmoji replaces emoji by their descriptions, which hold words of the
// lexicon.
func (v *vader) describeEmoji(text string) string {
	var b strings.Builder
	afterSpace := true
	for _, r := range text {
		if description, ok := v.emoji[r]; ok {
			if !afterSpace {
				b.WriteByte(' ')
			}
			b.WriteString(description)
			afterSpace = false
		} else {
			b.WriteRune(r)
			afterSpace = r == ' '
		}
	}
	return b.String()
}

// known reports whether the lexicon has a word.
func (v *vader) known(word string) bool {
	_, ok := v.words[word]
	return ok
}

// valence returns the valence of word i after the rules about capitals and the
// three words before it.
func (v *vader) valence(t tokens, i int) float64 {
	base, ok := v.words[t.lower[i]]
	if !ok {
		return 0
	}
	valence := v.afterNo(t.lower, i, base)
	if t.mixedCase && isUpper(t.words[i]) {
		valence += math.Copysign(capitals, positiveOr(valence))
	}
	for distance := range min(3, i) {
		before := i - distance - 1
		if v.known(t.words[before]) {
			continue
		}
		valence += boosted(t, before, valence) * distanceScale[distance]
		valence = negate(t.lower, i, distance, valence)
		if distance == 2 {
			valence = idiomatic(t.lower, i, valence)
		}
	}
	return v.afterLeast(t.words, i, valence)
}

// positiveOr returns 1 for a positive number and -1 for any other.
func positiveOr(n float64) float64 {
	if n > 0 {
		return 1
	}
	return -1
}

// afterNo handles "no", which is a negation before a word of the lexicon.
func (v *vader) afterNo(lower []string, i int, base float64) float64 {
	if i > 0 && lower[i-1] == "no" || i > 1 && lower[i-2] == "no" ||
		i > 2 && lower[i-3] == "no" && (lower[i-1] == "or" || lower[i-1] == "nor") {
		return base * negation
	}
	if lower[i] == "no" && i+1 < len(lower) && v.known(lower[i+1]) {
		return 0
	}
	return base
}

// boosted returns what the word at index adds to a valence.
func boosted(t tokens, index int, valence float64) float64 {
	n := boosterOf(t.lower[index])
	if n == 0 {
		return 0
	}
	if valence < 0 {
		n = -n
	}
	if t.mixedCase && isUpper(t.words[index]) {
		n += math.Copysign(capitals, positiveOr(valence))
	}
	return n
}

// negate applies a negation that stands distance+1 words before word i.
func negate(lower []string, i, distance int, valence float64) float64 {
	between := lower[i-distance : i]
	switch word := lower[i-distance-1]; {
	case distance > 0 && word == "never" && (slices.Contains(between, "so") || slices.Contains(between, "this")):
		return valence * neverSo
	case distance > 0 && word == "without" && slices.Contains(between, "doubt"):
		return valence
	case negations[word], strings.Contains(word, "n't"):
		return valence * negation
	}
	return valence
}

// idiomatic applies idioms around word i, and phrases that dampen it.
func idiomatic(lower []string, i int, valence float64) float64 {
	phrase := func(from, to int) string { return strings.Join(lower[i+from:i+to+1], " ") }
	for _, p := range []string{phrase(-1, 0), phrase(-2, 0), phrase(-2, -1), phrase(-3, -1), phrase(-3, -2)} {
		if n, ok := idioms[p]; ok {
			valence = n
			break
		}
	}
	for after := 1; after <= 2 && i+after < len(lower); after++ {
		if n, ok := idioms[phrase(0, after)]; ok {
			valence = n
		}
	}
	for _, p := range []string{phrase(-3, -1), phrase(-3, -2), phrase(-2, -1)} {
		valence += boosterOf(p)
	}
	return valence
}

// afterLeast negates after "least", but not after "at least" and "very least".
func (v *vader) afterLeast(words []string, i int, valence float64) float64 {
	if i == 0 || words[i-1] != "least" || v.known("least") || i > 1 && (words[i-2] == "at" || words[i-2] == "very") {
		return valence
	}
	return valence * negation
}

// weighBut makes what follows the first "but" count more than what precedes it.
func weighBut(lower []string, valences []float64) {
	but := slices.Index(lower, "but")
	if but < 0 {
		return
	}
	for i := range valences {
		if i < but {
			valences[i] *= beforeBut
		} else if i > but {
			valences[i] *= afterBut
		}
	}
}

// emphasis returns what exclamation and question marks add to a sentence.
func emphasis(text string) float64 {
	sum := float64(min(strings.Count(text, "!"), maxExclamations)) * exclamation
	if n := strings.Count(text, "?"); n > maxQuestions {
		sum += manyQuestions
	} else if n > 1 {
		sum += float64(n) * question
	}
	return sum
}

// combine sums the valences up to the sentiment of a sentence. A shift by 1
// compensates for neutral words, which count 1 each.
func combine(valences []float64, emphasis float64) Sentiment {
	sum, positive, negative, neutral := 0.0, 0.0, 0.0, 0.0
	for _, n := range valences {
		switch sum += n; {
		case n > 0:
			positive += n + 1
		case n < 0:
			negative += 1 - n
		default:
			neutral++
		}
	}
	if sum != 0 {
		sum += math.Copysign(emphasis, sum)
	}
	if positive > negative {
		positive += emphasis
	} else if positive < negative {
		negative += emphasis
	}
	total := positive + negative + neutral
	return Sentiment{
		Compound: max(-1, min(1, sum/math.Sqrt(sum*sum+normalization))),
		Positive: positive / total, Neutral: neutral / total, Negative: negative / total,
	}
}
