package sluice_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bannedPhrases are phrases that comments, docs and page texts do not use, with what to
// write instead. Each is a regular expression in which a space also matches a line break
// within a comment. A text is compared with it only around its word, which is part of
// every match: regular expressions over all texts take half a minute.
var bannedPhrases = []struct{ word, phrase, instead string }{
	{"which", `of which`, "start a new sentence, or name the noun"},
	{"whom", `of whom`, "start a new sentence, or name the noun"},
	{"itself", `by itself`, "automatically, alone, on its own"},
	{"themselves", `by themselves`, "automatically, alone, on their own"},
	{"anew", `anew`, "again, or a verb such as regenerate"},
	{"whoever", `whoever`, "the noun: the client, the caller, anyone who"},
	{"nobody's", `nobody's`, "not owned by anyone, or what it means"},
	{"somebody's", `somebody's`, "the noun"},
	{"shall", `shall`, "must, will, or the present tense"},
	{"force", `in force`, "effective, current"},
	{"ours", `of ours`, "own, Sluice's, custom"},
	{"none", `(?-i:(?:is|are) none)`, "does not exist, there is no, is empty"},
	{"no more", `no more[.,;:)]`, "no longer"},
	{"whether", `tells? whether`, "reports whether"},
	{"that", `tells? that`, "reports that"},
	{"whether", `says? whether`, "reports whether"},
	{"for ever", `for ever`, "forever, indefinitely"},
	{"borne", `borne`, "presented, carried"},
	{"mend", `mend(?:s|ed|ing)?`, "fix"},
	{"that which", `that which`, "what, or the noun"},
	{"goes on", `goes on`, "continues"},
	{"on", `carr(?:y|ies) on`, "continue"},
	{"hence", `hence`, "therefore, or start with the reason"},
	{"nought", `nought`, "nothing, or is ignored"},
	{"likewise", `likewise`, "too, also"},
	{"but for", `but for`, "except"},
	{"became", `what became of`, "the outcome, the state, what happened to"},
	{"about", `comes? about`, "happens, is made"},
	{"let in", `lets? in`, "allows, accepts, admits"},
	{"lets in", `lets in`, "allows, accepts, admits"},
	{"given back", `given back`, "returned"},
	{"kept secret", `kept secret`, "hidden"},
	{"key", `text of a key`, "secret"},
	{"roll", `rolled (?:meanwhile|away)`, "rotated"},
	{"for", `takes? for`, "treats as, reads as"},
	{"colour", `colours?`, "color"},
	{"behaviour", `behaviours?`, "behavior"},
	{"recognis", `recognis(?:e|es|ed|ing)`, "recognize"},
	{"favour", `favou?rs`, "prefers, or favorites"},
	{"came", `what came of`, "the result, the outcome"},
	{"nobody", `there is nobody`, "no one is notified, it does not exist, or what it means"},
	{"whilst", `whilst`, "while"},
	{"amongst", `amongst`, "among"},
	{"thereof", `thereof`, "of it, or name the noun"},
	{"therein", `therein`, "in it, or name the noun"},
	{"thereby", `thereby`, "so, or start a new sentence"},
	{"told", `(?:is|are) told(?: that)?`, "is notified, learns, receives"},
	{"go of", `lets? go of`, "releases"},
	{"puts out", `puts out`, "outputs, returns"},
	{"all the same", `all the same`, "anyway"},
	{"carries out", `carries out`, "executes, runs"},
	{"naught", `naught`, "nothing, or is ignored"},
}

// skipped are texts that are generated, third-party or a record of the past.
var skipped = []string{
	".git", "CHANGELOG.md", "LICENSE", "english_test.go", "node_modules", "testdata", "static/dist", "db/gen",
	"providers/builtin/model", "providers/builtin/convert", "snippets/lexers", "e2e/npm",
}

// textFiles are the endings of files with comments or texts.
var textFiles = []string{".go", ".templ", ".md", ".ts", ".css", ".sql", ".tmpl", ".sh", ".toml", ".yml", ".service", ".conf"}

// TestEnglish keeps phrases that readers stumble over out of comments, docs
// and page texts.
func TestEnglish(t *testing.T) {
	t.Parallel()
	patterns := make([]*regexp.Regexp, len(bannedPhrases))
	for i, b := range bannedPhrases {
		patterns[i] = regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(b.phrase, " ", `\s+(?:(?://|\*|#|--)\s*)?`) + wordEnd(b.phrase))
	}
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(skipped, path) || slices.Contains(skipped, e.Name()) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.IsDir() || !slices.Contains(textFiles, filepath.Ext(path)) || strings.HasSuffix(path, "_templ.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lower := bytes.ToLower(text)
		for i, p := range patterns {
			for _, at := range findAll(p, []byte(bannedPhrases[i].word), text, lower) {
				line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q; write: %s", path, line, text[at[0]:at[1]], bannedPhrases[i].instead)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// findAll returns the matches of a pattern in a text that contain a word.
func findAll(p *regexp.Regexp, word, text, lower []byte) (found [][]int) {
	const around = 60 // bytes before and after the word that a match may have
	if len(lower) != len(text) {
		return p.FindAllIndex(text, -1) // lower case has other lengths
	}
	for at := 0; ; {
		i := bytes.Index(lower[at:], word)
		if i < 0 {
			return found
		}
		at += i
		start, end := max(at-around, 0), min(at+len(word)+around, len(text))
		for _, m := range p.FindAllIndex(text[start:end], -1) {
			m[0], m[1] = m[0]+start, m[1]+start
			same := func(f []int) bool { return f[0] == m[0] }
			if m[0] <= at && m[1] > at && !slices.ContainsFunc(found, same) {
				found = append(found, m)
			}
		}
		at += len(word)
	}
}

// wordEnd returns the pattern for the end of a phrase: \b after a letter.
func wordEnd(phrase string) string {
	if strings.HasSuffix(phrase, "]") {
		return ""
	}
	return `\b`
}
