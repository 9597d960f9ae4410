// Package charset detects the character encoding of a text that does not state it.
//
// It owns the models of languages and the comparison. The package knows nothing about documents or
// formats; callers first look for a byte order mark, a declaration and valid UTF-8, which are reliable.
//
// # How an encoding is detected
//
// The same bytes are a text in many encodings: C4 EE E3 EE is "Дого" in Windows-1251 and "Äîãî" in Windows-1252. Only one
// of them is a likely text of some language. For each encoding and each language that is written in it, Detect adds up how
// unlikely each character is after the one before: the negative logarithm of its probability, as in a compressor. The
// smallest sum wins. Languages with an alphabet have a probability for each pair of letters; Chinese, Japanese and Korean
// have one for each character, since two bytes of these encodings are one character and pairs would be too many.
//
// The probabilities come from the Universal Declaration of Human Rights, which exists in all these languages; see
// generate. Detection is a guess: short texts, names and lists of numbers give little evidence. Callers tell users so.
package charset

//go:generate go run ./generate
