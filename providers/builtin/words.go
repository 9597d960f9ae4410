package builtin

import (
	"math"
	"strings"
	"unicode"
)

// stopWords are words that do not characterize the topic of a question.
var stopWords = wordSet("a an the this that these those there here i you he she it we they me us him them my your his " +
	"her its our their is are was were be been being am do does did done have has had can could will would should may " +
	"might must what which who whom whose when where why how much many long often about of in on at to for from by " +
	"with into and or but if as so than then not no any some get got")

// keywords returns the words of s other than stop words, reduced to a crude stem so that "cracks" matches "cracked".
func keywords(s string) map[string]bool {
	found := map[string]bool{}
	for word := range strings.FieldsFuncSeq(strings.ToLower(s), isNotWord) {
		if !stopWords[word] {
			found[stem(word)] = true
		}
	}
	return found
}

// isNotWord reports whether a character separates words: anything but letters and
// digits.
func isNotWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// stem removes an English suffix if enough of the word remains.
func stem(word string) string {
	for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
		if root, ok := strings.CutSuffix(word, ending); ok && len(root) > 3 {
			return root
		}
	}
	return word
}

// overlap returns for each passage the share of the question's keywords that it contains, from 0 to 1. Words that occur in
// few passages have more weight.
func overlap(question string, passages []string) []float64 {
	wanted := keywords(question)
	found := make([][]string, len(passages)) // the keywords of each passage that the question has, too
	hits := map[string]int{}
	for i, p := range passages {
		for word := range keywords(p) {
			if wanted[word] {
				found[i] = append(found[i], word)
				hits[word]++
			}
		}
	}
	weight := func(word string) float64 {
		return math.Log(1 + float64(len(passages))/float64(1+hits[word]))
	}
	total := 0.0
	for word := range wanted {
		total += weight(word)
	}
	shares := make([]float64, len(passages))
	for i, words := range found {
		for _, word := range words {
			shares[i] += weight(word)
		}
		shares[i] /= max(total, math.SmallestNonzeroFloat64)
	}
	return shares
}
