package automation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/triggers"
	view "sluice/views/automation"
	"sluice/views/components"
)

// isPlain reports whether the dialog can show which candidates a test has: the live version, the draft, or both.
func isPlain(t *triggers.Test) bool {
	live := triggers.TestCandidate{}
	switch {
	case t.Changes() || len(t.Candidates) > 1:
		return false
	case t.Baseline != nil:
		return *t.Baseline == live && len(t.Candidates) == 1 && t.Candidates[0].Version == triggers.VersionDraft
	}
	return len(t.Candidates) == 0 || t.Candidates[0].Version <= 0
}

// testSentence says what a schedule tests, such as "tests the draft".
func testSentence(t *triggers.Test) string {
	switch {
	case !isPlain(t):
		return "tests " + components.Quantity(max(len(t.Candidates), 1), "candidate")
	case len(t.Candidates) > 0 && t.Candidates[0].Version == triggers.VersionDraft:
		return "tests the draft"
	}
	return "tests the live version"
}

// testForm returns the fields of what a schedule tests; those of a new test if it tests nothing.
func testForm(t *triggers.Test) view.TestForm {
	if t == nil {
		return view.TestForm{Mode: string(flow.CaseLive)}
	}
	f := view.TestForm{Mode: string(cmp.Or(t.Mode, flow.CaseFill)), Tags: strings.Join(t.Tags, ", ")}
	switch {
	case !isPlain(t):
		f.Kept = fmt.Sprintf("%s, set in the file or the API", components.Quantity(max(len(t.Candidates), 1), "candidate"))
	case t.Baseline != nil:
		f.Version = view.VersionCompared
	case len(t.Candidates) > 0 && t.Candidates[0].Version == triggers.VersionDraft:
		f.Version = "draft"
	}
	if f.Tags != "" {
		f.Cases = "tags"
	}
	if t.Cases != nil && t.Cases.Runs != nil {
		f.Cases, f.Newer = "runs", t.Cases.Runs.Newer
		if n := t.Cases.Runs.Limit; n > 0 {
			f.Limit = strconv.FormatInt(n, 10)
		}
	}
	if t.MaxUSD > 0 {
		f.MaxUSD = strconv.FormatFloat(t.MaxUSD, 'f', -1, 64)
	}
	return f
}

// readTest reads what a schedule tests, based on the stored test, whose settings without a field stay; nil if it starts runs.
func readTest(c *call, stored *triggers.Test, errs components.Errors) (*triggers.Test, view.TestForm) {
	text := func(name string) string { return strings.TrimSpace(c.FormValue(name)) }
	form := view.TestForm{Version: text("test_version"), Mode: text("test_mode"), Cases: text("test_cases"), Tags: text("test_tags"), Limit: text("test_limit"), Newer: text("test_newer"), MaxUSD: text("test_max_usd")}
	if stored != nil {
		form.Kept = testForm(stored).Kept
	}
	if c.FormValue("starts") != view.StartsTest {
		return nil, form
	}
	t := &triggers.Test{}
	if stored != nil {
		*t = *stored
	}
	if t.Mode = flow.CaseMode(form.Mode); t.Mode != flow.CaseLive {
		t.Allow = nil
	}
	if form.Kept == "" {
		t.Candidates, t.Baseline = nil, nil
		if form.Version != "" {
			t.Candidates = []triggers.TestCandidate{{Version: triggers.VersionDraft}}
		}
		if form.Version == view.VersionCompared {
			t.Baseline = &triggers.TestCandidate{}
		}
	}
	t.Tags = nil
	switch form.Cases {
	case "tags":
		t.Cases = nil
		for tag := range strings.SplitSeq(form.Tags, ",") {
			if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(t.Tags, tag) {
				t.Tags = append(t.Tags, tag)
			}
		}
		if len(t.Tags) == 0 {
			errs["test_tags"] = "Enter a tag."
		}
	case "runs":
		runs := triggers.TestedRuns{Limit: count(form.Limit, "test_limit", errs), Newer: form.Newer}
		if t.Cases != nil && t.Cases.Runs != nil {
			runs.Spread = t.Cases.Runs.Spread
		}
		t.Cases = &triggers.TestedCases{Runs: &runs}
	default:
		if t.Cases != nil && t.Cases.Runs != nil {
			t.Cases = nil
		}
	}
	t.MaxUSD = 0
	if form.MaxUSD != "" {
		usd, err := strconv.ParseFloat(strings.TrimPrefix(form.MaxUSD, "$"), 64)
		if err != nil || usd <= 0 {
			errs["test_max_usd"] = "Enter an amount such as 1.50."
		}
		t.MaxUSD = usd
	}
	return t, form
}

// testFields are the fields of problems of a test, by their pointers.
var testFields = map[string]string{"test/cases/runs/limit": "test_limit", "test/cases/runs/newer": "test_newer", "test/max_usd": "test_max_usd"}
