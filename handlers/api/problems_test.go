package api

import (
	"slices"
	"testing"

	"sluice/docs"
)

// TestProblems_link_to_their_explanation checks that the type of every problem is the URL of a
// section that explains it.
func TestProblems_link_to_their_explanation(t *testing.T) {
	t.Parallel()
	book, err := docs.Read(docs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	headings := book.Page("errors").Headings()
	for code := range problemFacts {
		if !slices.ContainsFunc(headings, func(h docs.Block) bool { return h.ID == string(code) }) {
			t.Errorf("docs/errors.md has no heading `%s`", code)
		}
	}
}
