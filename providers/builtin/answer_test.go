package builtin

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/flow/flowtest"
)

// document is a text with questions to it. An answer is right if it contains one of the given strings.
type document struct {
	Text       string
	Answers    map[string][]string
	Unanswered []string
}

func readDocuments(t *testing.T) []document {
	t.Helper()
	file, err := os.ReadFile("testdata/answers.json")
	if err != nil {
		t.Fatal(err)
	}
	var docs []document
	if err := json.Unmarshal(file, &docs); err != nil {
		t.Fatal(err)
	}
	return docs
}

func findAnswer(t *testing.T, text, question string, passages int) Answer {
	t.Helper()
	a, err := setup(t).FindAnswer(t.Context(), "ws", text, question, passages)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func containsOne(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func TestFindAnswerFindsTheSentence(t *testing.T) {
	t.Parallel()
	need.Time(t)
	asked, first, among := 0, 0, 0
	for _, doc := range readDocuments(t) {
		for question, want := range doc.Answers {
			a := findAnswer(t, doc.Text, question, 3)
			asked++
			if containsOne(a.Answer, want) {
				first++
			} else {
				t.Logf("%.2f %q: %q", a.Score, question, a.Answer)
			}
			if slices.ContainsFunc(a.Passages, func(p Passage) bool { return containsOne(p.Text, want) }) {
				among++
			}
		}
	}
	t.Logf("of %d questions, %d were answered first, %d among three passages", asked, first, among)
	if asked != 39 || first < 33 || among < 37 {
		t.Errorf("of %d questions, %d were answered first, %d among three passages", asked, first, among)
	}
}

func TestFindAnswerOwnsUpToNotFinding(t *testing.T) {
	t.Parallel()
	need.Time(t)
	asked, answered := 0, 0
	for _, doc := range readDocuments(t) {
		for _, question := range doc.Unanswered {
			asked++
			if a := findAnswer(t, doc.Text, question, 1); a.Answer != "" {
				answered++
				t.Logf("%.2f %q: %q", a.Score, question, a.Answer)
			}
		}
	}
	if answered > asked/10 {
		t.Errorf("%d of %d questions without an answer got one", answered, asked)
	}
}

func TestFindAnswerPassagesAreOfTheText(t *testing.T) {
	t.Parallel()
	text := "# Größe\r\nThe tent is 3 m\nlong and 2 m wide.\n\n- sleeps four people\n- weighs 5.5 kg in its bag\n\nYes!"
	a := findAnswer(t, text, "How long is the tent?", 10)
	if a.Answer != "Größe The tent is 3 m long and 2 m wide." {
		t.Errorf("answer %q", a.Answer)
	}
	last := 1.0
	for _, p := range a.Passages {
		if text[p.Start:p.Start+len(p.Text)] != p.Text || p.Score > last || p.Score < 0 {
			t.Errorf("passage %+v after score %g", p, last)
		}
		last = p.Score
	}
	if len(a.Passages) != 3 || a.Score != a.Passages[0].Score {
		t.Errorf("%+v", a)
	}
}

func TestFindAnswerWithoutContent(t *testing.T) {
	t.Parallel()
	if a := findAnswer(t, " \n", "What?", 2); a.Answer != "" || a.Score != 0 || len(a.Passages) != 0 {
		t.Errorf("in blank text: %+v", a)
	}
	if a := findAnswer(t, "Some text is here.", "", 2); a.Answer != "" || a.Score != 0 {
		t.Errorf("blank question: %+v", a)
	}
}

func TestFindAnswerRefusals(t *testing.T) {
	t.Parallel()
	m := setup(t)
	if _, err := m.FindAnswer(t.Context(), "ws", "text", "question", 0); !errors.Is(err, ErrCount) {
		t.Errorf("no passages: %v", err)
	}
	long := strings.Repeat("x", MaxText+1)
	if _, err := m.FindAnswer(t.Context(), "ws", long, "question", 1); !errors.Is(err, ErrTooLong) {
		t.Errorf("long text: %v", err)
	}
	if _, err := m.FindAnswer(t.Context(), "ws", "text", long, 1); !errors.Is(err, ErrTooLong) {
		t.Errorf("long question: %v", err)
	}
}

// TestOverlap_takes_linear_time compares as many distinct words with as many passages as a step
// may have.
func TestOverlap_takes_linear_time(t *testing.T) {
	t.Parallel()
	var question strings.Builder
	for i := 0; question.Len() < MaxText-10; i++ {
		fmt.Fprintf(&question, "%x ", i)
	}
	passages := make([]string, MaxTexts)
	for i := range passages {
		passages[i] = fmt.Sprintf("%x %x %x %x", i, i+1000, i+7000, i+20_000)
	}
	flowtest.CheckCPU(t, func() {
		if shares := overlap(question.String(), passages); shares[0] <= 0 {
			t.Error("the first passage has no word of the question")
		}
	})
}
