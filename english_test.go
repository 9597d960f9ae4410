package sluice_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bannedPhrases are phrases that comments, docs and page texts do not use,
// with what to write instead. Each is a regular expression in which a space
// also matches a line break within a comment.
var bannedPhrases = []struct{ phrase, instead string }{
	{`of which`, "start a new sentence, or name the noun"},
	{`of whom`, "start a new sentence, or name the noun"},
	{`by itself`, "automatically, alone, on its own"},
	{`by themselves`, "automatically, alone, on their own"},
	{`anew`, "again, or a verb such as regenerate"},
	{`whoever`, "the noun: the client, the caller, anyone who"},
	{`nobody's`, "not owned by anyone, or what it means"},
	{`somebody's`, "the noun"},
	{`shall`, "must, will, or the present tense"},
	{`in force`, "effective, current"},
	{`of ours`, "own, Sluice's, custom"},
	{`(?-i:(?:is|are) none)`, "does not exist, there is no, is empty"},
	{`no more[.,;:)]`, "no longer"},
	{`tells? whether`, "reports whether"},
	{`tells? that`, "reports that"},
	{`says? whether`, "reports whether"},
	{`for ever`, "forever, indefinitely"},
	{`borne`, "presented, carried"},
	{`mend(?:s|ed|ing)?`, "fix"},
	{`that which`, "what, or the noun"},
	{`goes on`, "continues"},
}

// notYet are directories whose language has not been revised, each with the
// number of banned phrases left. A number may only shrink: lower it when you
// revise a text, and delete the line at 0.
var notYet = map[string]int{
	"views": 1,
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
	left := map[string]int{}
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
		return eachPhrase(path, patterns, func(line int, i int, found string) {
			if dir := unrevised(path); dir != "" {
				left[dir]++
				return
			}
			t.Errorf("%s:%d: %q; write: %s", path, line, found, bannedPhrases[i].instead)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, n := range notYet {
		if left[dir] > n {
			t.Errorf("%s has %d banned phrases, more than the %d in notYet; run with -v to list them", dir, left[dir], n)
			listPhrases(t, dir, patterns)
		} else if left[dir] == 0 {
			t.Errorf("%s has no banned phrases any longer: delete it from notYet", dir)
		}
	}
}

// wordEnd returns the pattern for the end of a phrase: \b after a letter.
func wordEnd(phrase string) string {
	if strings.HasSuffix(phrase, "]") {
		return ""
	}
	return `\b`
}

// unrevised returns the longest entry of notYet that contains a path, or "".
func unrevised(path string) (longest string) {
	for dir := range notYet {
		if (path == dir || strings.HasPrefix(path, dir+"/")) && len(dir) > len(longest) {
			longest = dir
		}
	}
	return longest
}

// eachPhrase calls found for every banned phrase of a file.
func eachPhrase(path string, patterns []*regexp.Regexp, found func(line, phrase int, text string)) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i, p := range patterns {
		for _, at := range p.FindAllIndex(text, -1) {
			found(1+strings.Count(string(text[:at[0]]), "\n"), i, string(text[at[0]:at[1]]))
		}
	}
	return nil
}

// listPhrases logs the banned phrases below a directory.
func listPhrases(t *testing.T, dir string, patterns []*regexp.Regexp) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains(textFiles, filepath.Ext(path)) || strings.HasSuffix(path, "_templ.go") || strings.Contains(path, "testdata/") {
			return err
		}
		return eachPhrase(path, patterns, func(line, i int, found string) { t.Logf("%s:%d: %q", path, line, found) })
	})
}
