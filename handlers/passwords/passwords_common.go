package passwords

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// commonGzip lists common passwords in lower case, one per line: all that are
// long enough to be accepted, and the 10,000 most common shorter ones, which
// people extend. They are from @zxcvbn-ts/language-common 4.1.3; the license is
// in passwords_common.LICENSE.
//
//go:embed passwords_common.txt.gz
var commonGzip []byte

// commonPasswords returns the list as one text that begins and ends with a line
// break, so that each password is between two line breaks.
var commonPasswords = sync.OnceValue(func() string {
	r, err := gzip.NewReader(bytes.NewReader(commonGzip))
	if err != nil {
		panic("passwords: the list of common passwords: " + err.Error())
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic("passwords: the list of common passwords: " + err.Error())
	}
	return string(text)
})

func listed(s string) bool {
	return s != "" && !strings.Contains(s, "\n") && strings.Contains(commonPasswords(), "\n"+s+"\n")
}

// productName must not make up most of a password.
const productName = "sluice"

// minUnpredicted is the minimum number of characters that do not follow from those
// before them: "qwerty", "11111" and "2345" count as two each.
const minUnpredicted = 7

// chooseBetter is advice that follows an error about a password.
const chooseBetter = " Use four or more unrelated words, or a password manager."

// guessable returns a sentence about why a password is easy to guess, or "".
// email is the address of the account, or empty.
func guessable(password, email string) string {
	lower := strings.ToLower(password)
	switch {
	case isCommon(lower):
		return "This is a common password, or close to one." + chooseBetter
	case unpredicted(lower) < minUnpredicted || repeats(lower):
		return "This is a pattern that is easy to guess, such as a sequence or a repetition." + chooseBetter
	case len(lower) < 16 && strings.Trim(lower, "0123456789 -./") == "":
		return "A number with fewer than 16 digits is easy to guess." + chooseBetter
	case mostly(lower, email) || mostly(plainLetters(lower, 'i'), email):
		return "This is too close to your email address or to the name Sluice." + chooseBetter
	}
	return ""
}

// isCommon reports whether a password is in the list of common passwords, possibly
// with digits and signs for letters, or with a few characters before or after it.
func isCommon(lower string) bool {
	core := strings.TrimFunc(lower, func(r rune) bool { return !unicode.IsLetter(r) })
	around := utf8.RuneCountInString(lower) - utf8.RuneCountInString(core)
	if before, after, ok := strings.Cut(lower, core); ok && core != "" {
		around = min(around, unpredicted(before)+unpredicted(after))
	}
	for _, s := range []string{lower, core} {
		if s == core && (len(core) < 4 || around > 5) {
			continue
		}
		if listed(s) || listed(plainLetters(s, 'i')) || listed(plainLetters(s, 'l')) {
			return true
		}
	}
	return false
}

// plainLetters reads digits and signs as the letters that they often stand for.
func plainLetters(s string, one rune) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '0':
			return 'o'
		case '1', '!':
			return one
		case '3':
			return 'e'
		case '4', '@':
			return 'a'
		case '5', '$':
			return 's'
		case '7':
			return 't'
		case '8':
			return 'b'
		case '9':
			return 'g'
		}
		return r
	}, s)
}

// sequences are predictable sequences of characters: the alphabet, digits, and
// the rows and columns of keyboards. They also count backwards.
var sequences = func() []string {
	list := []string{
		"abcdefghijklmnopqrstuvwxyz", "012345678901234567890", "!@#$%^&*()", `!"§$%&/()=`,
		"qwertyuiop[]", "asdfghjkl;'", "zxcvbnm,./", "qwertzuiopü", "asdfghjklöä", "yxcvbnm,.-", "azertyuiop", "qsdfghjklm", "wxcvbn",
		"1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm", "8ik,", "9ol.", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "qazwsxedcrfvtgbyhnujm",
	}
	for _, s := range slices.Clone(list) {
		backwards := []rune(s)
		slices.Reverse(backwards)
		list = append(list, string(backwards))
	}
	return list
}()

// unpredicted counts the characters of a text. A run of at least three that follows
// a sequence or repeats one character counts as two.
func unpredicted(s string) (n int) {
	for text := []rune(s); len(text) > 0; {
		run := longestRun(text)
		if run < 3 {
			n, text = n+1, text[1:]
			continue
		}
		n, text = n+2, text[run:]
	}
	return n
}

// longestRun returns the length of the longest run at the start of a text.
func longestRun(text []rune) int {
	run := 1
	for run < len(text) && text[run] == text[0] {
		run++
	}
	for _, s := range sequences {
		for n := run + 1; n <= len(text) && strings.Contains(s, string(text[:n])); n++ {
			run = n
		}
	}
	return run
}

// repeats reports whether a text consists of a short text, repeated.
func repeats(s string) bool {
	text := []rune(s)
	for period := 1; period <= len(text)/2 && period < 8; period++ {
		if slices.Equal(text[period:], text[:len(text)-period]) {
			return true
		}
	}
	return false
}

// mostly reports whether a password consists mostly of the email address, its local
// part or the name of the product.
func mostly(lower, email string) bool {
	email = strings.ToLower(email)
	local, _, _ := strings.Cut(email, "@")
	left := lower
	for _, word := range []string{email, local, productName} {
		if len(word) >= 3 {
			left = strings.ReplaceAll(left, word, "")
		}
	}
	if left == lower {
		return false
	}
	left = strings.TrimFunc(left, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return unpredicted(left) < minUnpredicted || isCommon(left)
}
