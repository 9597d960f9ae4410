package builtin

import (
	"context"
	"errors"
	"sluice/e2e/need"
	"sluice/flow/wording"
	"strings"
	"testing"
)

func summarize(t *testing.T, text string, sentences int) string {
	t.Helper()
	s, err := setup(t).Summarize(t.Context(), "ws", text, sentences)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSummarizeKeepsWhatMatters(t *testing.T) {
	t.Parallel()
	bridge := readDocuments(t)[0].Text
	got := summarize(t, bridge, 3)
	if !strings.HasPrefix(got, "The city council voted on Tuesday to close the old harbour bridge") {
		t.Errorf("the main point is missing: %q", got)
	}
	if strings.Contains(got, "sunny") {
		t.Errorf("an aside was kept: %q", got)
	}
}

func TestSummarizeTakesSentencesInOrder(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for _, doc := range readDocuments(t) {
		for n := 1; n <= 5; n++ {
			summary, rest := summarize(t, doc.Text, n), wording.OneLine(doc.Text)
			sentences := splitSentences(summary)
			if len(sentences) != n {
				t.Errorf("%d sentences instead of %d", len(sentences), n)
			}
			for _, s := range sentences {
				_, after, found := strings.Cut(rest, s.in(summary))
				if !found {
					t.Errorf("%q is changed or out of order", s.in(summary))
				}
				rest = after
			}
		}
	}
}

func TestSummarizeDoesNotRepeatItself(t *testing.T) {
	t.Parallel()
	text := "The bridge is closed for repairs. The bridge is closed for repairs. The bridge is now closed for repair. " +
		"A ferry takes people across the river. The works cost two million euros."
	if got := summarize(t, text, 2); strings.Count(got, "bridge") > 1 {
		t.Errorf("summary %q", got)
	}
}

func TestSummarizeShortTexts(t *testing.T) {
	t.Parallel()
	if got := summarize(t, "Hi. Yes. No.", 2); len(splitSentences(got)) != 2 {
		t.Errorf("of three exclamations: %q", got)
	}
	for text, want := range map[string]string{
		"":                                  "",
		" \n\n":                             "",
		"One sentence is all there is.":     "One sentence is all there is.",
		"A first\nline. And  a second one.": "A first line. And a second one.",
		"Heading\n\nThis is the whole text of it.\n\nThis is even more of that.": "This is the whole text of it. This is even more of that.",
	} {
		if got := summarize(t, text, 2); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSummarizeRefusals(t *testing.T) {
	t.Parallel()
	m := setup(t)
	for _, n := range []int{-1, 0, MaxSentences + 1} {
		if _, err := m.Summarize(t.Context(), "ws", "text", n); !errors.Is(err, ErrCount) {
			t.Errorf("%d sentences: %v", n, err)
		}
	}
	if _, err := m.Summarize(t.Context(), "ws", strings.Repeat("x", MaxText+1), 1); !errors.Is(err, ErrTooLong) {
		t.Errorf("long text: %v", err)
	}
	if _, err := m.Summarize(t.Context(), "ws", strings.Repeat("Hi. ", MaxTexts+1), 1); !errors.Is(err, ErrTooLong) {
		t.Errorf("many sentences: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Summarize(ended, "ws", readDocuments(t)[0].Text, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}
