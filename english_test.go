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
		for i, p := range patterns {
			for _, at := range p.FindAllIndex(text, -1) {
				line := 1 + strings.Count(string(text[:at[0]]), "\n")
				t.Errorf("%s:%d: %q; write: %s", path, line, text[at[0]:at[1]], bannedPhrases[i].instead)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wordEnd returns the pattern for the end of a phrase: \b after a letter.
func wordEnd(phrase string) string {
	if strings.HasSuffix(phrase, "]") {
		return ""
	}
	return `\b`
}
