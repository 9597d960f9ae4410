package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Abbreviations whose full stop does not imply the end of a sentence, in lowercase and without the last stop.
var (
	// A name or an explanation follows, so the sentence always continues.
	abbreviationsBefore = wordSet("mr mrs ms mx dr prof rev hon gen col capt lt sgt gov sen rep pres st mt ft " +
		"messrs mme mlle e.g i.e eg ie cf vs viz approx ca resp incl")
	// A number follows if it is an abbreviation; "No." may also be an answer and "fig" a fruit.
	abbreviationsNumber = wordSet("no nos nr fig figs eq sec sect ch chap p pp vol art par para ver v tab app " +
		"jan feb mar apr jun jul aug sep sept oct nov dec")
)

// wordSet returns the set of the words in a text, which are separated by white space.
func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// isAbbreviation reports whether a full stop after word belongs to the word, given the first letter of what follows.
// Abbreviations that may stand at the end ("Inc.", "etc.", "a.m.") are not listed: before a small letter the sentence
// continues in any case, and before a capital it has more often ended.
func isAbbreviation(word string, next rune) bool {
	word = strings.ToLower(word)
	if abbreviationsNumber[word] {
		return unicode.IsDigit(next)
	}
	return abbreviationsBefore[word] || isInitial(word)
}

// isInitial reports whether a word is an initial, as in "J. Smith". "I" is not: it is more often the pronoun.
func isInitial(word string) bool {
	r, size := utf8.DecodeRuneInString(word)
	return size == len(word) && unicode.IsLetter(r) && r != 'i'
}
