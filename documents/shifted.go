package documents

import (
	"strings"
	"unicode"
)

// Raised and lowered characters of Unicode, by the usual ones.
var (
	raised  = pairs("0⁰1¹2²3³4⁴5⁵6⁶7⁷8⁸9⁹+⁺-⁻−⁻–⁻=⁼(⁽)⁾")
	lowered = pairs("0₀1₁2₂3₃4₄5₅6₆7₇8₈9₉+₊-₋−₋–₋=₌(₍)₎")

	raisedLetters  = pairs("aᵃbᵇcᶜdᵈeᵉfᶠgᵍhʰiⁱjʲkᵏlˡmᵐnⁿoᵒpᵖrʳsˢtᵗuᵘvᵛwʷxˣyʸzᶻ")
	loweredLetters = pairs("aₐeₑhₕiᵢjⱼkₖlₗmₘnₙoₒpₚrᵣsₛtₜuᵤvᵥxₓ")
)

// pairs returns a map of each first character of a text to the second one.
func pairs(s string) map[rune]rune {
	m := map[rune]rune{}
	list := []rune(s)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// shifted returns raised or lowered text: 10 with a raised 6 is "10⁶", not "106". Unicode has digits and signs for it;
// other text with digits gets ^ or _ as in "x^(2,5)". Words keep their letters, since their position has no meaning of its
// own, as in "1st" or "TM"; before is the character that precedes the text.
func shifted(s string, up bool, before string) string {
	digits, letters, sign := raised, raisedLetters, "^"
	if !up {
		digits, letters, sign = lowered, loweredLetters, "_"
	}
	text := strings.TrimSpace(s)
	if text == "" || strings.TrimSpace(before) == "" && !up || !strings.ContainsFunc(text, unicode.IsLetter) && !strings.ContainsFunc(text, unicode.IsDigit) && !strings.ContainsAny(text, "+-−–") {
		return s
	}
	one := []rune(text)
	afterDigit := before >= "0" && before <= "9"
	if !strings.ContainsFunc(text, unicode.IsDigit) && !strings.ContainsAny(text, "+-−–=") {
		if shape, has := letters[one[0]]; has && len(one) == 1 && (!afterDigit || strings.ContainsAny(text, "nxyk")) {
			return strings.Replace(s, text, string(shape), 1)
		}
		return s
	}
	shapes := strings.Map(func(r rune) rune {
		if shape, has := digits[r]; has {
			return shape
		}
		if shape, has := letters[r]; has {
			return shape
		}
		return 0
	}, text)
	if strings.ContainsRune(shapes, 0) {
		shapes = sign + "(" + text + ")"
	}
	return strings.Replace(s, text, shapes, 1)
}
