package reports

import (
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/cases"
)

// newReport returns the report of three cases: one got worse, one is stale, one passes. Texts of models try to be more than text.
func newReport() *Report {
	expected := &flow.Object{}
	expected.Set("label", "return")
	file := &cases.File{Cases: []cases.Case{{ID: "late", Name: "=cmd()", Tags: []string{"must"}, Expected: expected}, {ID: "new"}, {ID: "vat-id"}}}
	test := &cases.Test{ID: "test_1", CreatedAt: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC), Spec: cases.Spec{
		Set: "set", Cases: []string{"late", "new", "vat-id"}, Mode: flow.CaseReplay, Baseline: 1, Candidates: []cases.Candidate{{Label: "the draft", Hash: "h2"}, {Label: "version 7", Version: 7, Hash: "h1"}},
	}}
	verdicts := []cases.Verdict{
		{Candidate: 0, Case: "late", State: cases.Failed, Message: "label equals: ]]><script>", MS: 2100, USD: 1_000_000, RunID: "run_a", Recorded: true, Checks: []cases.Outcome{
			{Check: "status", State: cases.Passed}, {Check: "label equals", State: cases.Failed, Reason: "got `]]><script>` \x00 @octocat | <img src=x>\nsecond line"}, {Check: "seen", State: cases.Failed, Watch: true},
		}},
		{Candidate: 0, Case: "new", State: cases.Stale, Message: "answer has no recorded result.", RunID: "run_b"},
		{Candidate: 0, Case: "vat-id", State: cases.Passed, Score: 1, MS: 900, RunID: "run_c"},
		{Candidate: 1, Case: "late", State: cases.Passed, Score: 1, MS: 2000, USD: 500_000, RunID: "run_d"},
		{Candidate: 1, Case: "new", State: cases.Passed, Score: 1, MS: 2000, RunID: "run_e"},
		{Candidate: 1, Case: "vat-id", State: cases.Failed, Message: "x", MS: 2000, RunID: "run_f"},
	}
	plan := cases.NewPlan(test, file)
	r := &Report{Flow: "refunds", Plan: plan, Report: cases.NewReport(plan, verdicts), Outputs: map[flow.RunID]*flow.Object{}}
	is, was := &flow.Object{}, &flow.Object{}
	is.Set("answer", "Dear Ann, </pre> we refund @octocat today")
	was.Set("answer", "Dear Ann, </pre> we replace it today")
	r.Outputs["run_a"], r.Outputs["run_d"] = is, was
	return r
}

func TestJUnit_has_a_failure_for_failed_cases_and_an_error_for_stale_ones(t *testing.T) {
	t.Parallel()
	data, mime := newReport().Write("junit")
	var got struct {
		Suites []struct {
			Name                    string `xml:"name,attr"`
			Tests, Failures, Errors int
			Counts                  []xml.Attr `xml:",any,attr"`
			Cases                   []struct {
				Name    string `xml:"name,attr"`
				Time    string `xml:"time,attr"`
				Failure *struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
				Error *struct {
					Message string `xml:"message,attr"`
					Type    string `xml:"type,attr"`
				} `xml:"error"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(data, &got); err != nil || !strings.HasPrefix(mime, "application/xml") {
		t.Fatalf("%v\n%s", err, data)
	}
	if len(got.Suites) != 1 || got.Suites[0].Name != "refunds: the draft" || !strings.Contains(string(data), `tests="3" failures="1" errors="1" time="3.000"`) {
		t.Fatalf("the suites: %+v\n%s", got.Suites, data)
	}
	c := got.Suites[0].Cases
	if len(c) != 3 || c[0].Failure == nil || c[0].Error != nil || !strings.Contains(c[0].Failure.Text, "]]><script>") || strings.Contains(c[0].Failure.Text, "seen") || c[0].Time != "2.100" {
		t.Errorf("the failed case: %+v", c[0])
	}
	if c[1].Error == nil || c[1].Failure != nil || c[1].Error.Type != "stale" || c[1].Error.Message != "answer has no recorded result." {
		t.Errorf("the stale case: %+v", c[1])
	}
	if c[2].Failure != nil || c[2].Error != nil {
		t.Errorf("the case that passes: %+v", c[2])
	}
}

func TestCSV_has_a_row_for_each_case_and_candidate(t *testing.T) {
	t.Parallel()
	data, _ := newReport().Write("csv")
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil || len(rows) != 7 {
		t.Fatalf("%v %d rows\n%s", err, len(rows), data)
	}
	if got := strings.Join(rows[1], ";"); !strings.HasPrefix(got, "late;'=cmd();must;the draft;false;failed;0;1;0;0.001;2100;") {
		t.Errorf("a row: %s", got)
	}
}

func TestMarkdown_begins_with_what_got_worse_and_shows_texts_as_text(t *testing.T) {
	t.Parallel()
	data, _ := newReport().Write("markdown")
	got := string(data)
	for _, want := range []string{
		"**refunds:** 1 better, 1 worse of 3 than version 7: no clear difference (worse: late).",
		"### Got worse\n\n**late** =cmd() (the draft)\n\n- ``label equals: got `]]><script>`",
		"<pre>answer: Dear Ann, &lt;/pre&gt; we <del>replace</del><ins>refund</ins> ",
		"### Stale\n\n**new** (the draft)\n",
		"| Case | the draft | version 7 (baseline) |\n| --- | --- | --- |\n| late | Failed · 0.00 · $0.001 · 2.1 s | Passed",
		"- the draft: 1 of 3 pass (95 % interval: 9 to 91 %)",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("without %q:\n%s", want, got)
		}
	}
	outside := strings.Split(got, "<pre>")[0]
	if strings.Contains(plain("<b>@octocat #12</b>"), "<b>") && !strings.Contains(plain("<b>"), `\<`) || strings.Contains(plain("@octocat"), "@o") || strings.Count(outside, "<img") != strings.Count(outside, "<img src=x>") {
		t.Error("a text is more than text")
	}
}

func TestMarkdown_fits_into_a_comment(t *testing.T) {
	t.Parallel()
	r := newReport()
	var file cases.File
	for i := range 1000 {
		file.Cases = append(file.Cases, cases.Case{ID: fmt.Sprintf("case-%04d-%s", i, strings.Repeat("x", 50))})
	}
	r.Plan.Spec.Cases = file.Select(nil)
	for len(r.Plan.Spec.Candidates) < cases.MaxCandidates {
		r.Plan.Spec.Candidates = append(r.Plan.Spec.Candidates, cases.Candidate{Label: "the draft with " + strings.Repeat("y", 500)})
	}
	var verdicts []cases.Verdict
	for k := range r.Plan.Spec.Candidates {
		for i := range file.Cases {
			verdicts = append(verdicts, cases.Verdict{Candidate: k, Case: file.Cases[i].ID, State: cases.Failed, Message: strings.Repeat("z", 5000)})
		}
	}
	r.Plan.File = &file
	r.Report = cases.NewReport(r.Plan, verdicts)
	data, _ := r.Write("markdown")
	if len(data) > 65_536 || !strings.Contains(string(data), "more cases.") {
		t.Errorf("%d bytes", len(data))
	}
}
