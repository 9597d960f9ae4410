package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
)

func parse(t *testing.T, text string) (*File, []flow.Problem) {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := flow.AsObject(v)
	return Parse(o, func(source string, names ...string) error {
		if source == "broken(" {
			return errors.New("it is broken")
		}
		if !slices.Contains(names, "outputs") && source != "1 == 1" {
			return errors.New("a variable is unknown")
		}
		return nil
	})
}

func object(t *testing.T, text string) *flow.Object {
	t.Helper()
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o, _ := flow.AsObject(v)
	return o
}

func TestFile_survives_a_round_trip(t *testing.T) {
	t.Parallel()
	const text = `{"schema":"sluice.tests/v1","defaults":{"checks":[{"status":"succeeded"}],"repeat":3,"pass":2},"gate":{"tags":["must"],"pass_rate":1,"no_worse":true,"usd":"+20%","p95_ms":5000,"mode":"replay"},` +
		`"cases":[{"id":"a-case","name":"A case","inputs":{"text":"x","file":{"file":"file_01m7z26njgm1r68xj6qyhfyvty"}},"expected":{"label":"refund"},` +
		`"checks":[{"output":"label","equals":"refund"},{"output":"json","equals":{"a":1.50},"ignore":["/id"],"within":0.01},{"output":"t","contains":["a","b"],"watch":true},{"output":"t","matches":"^a+$"},` +
		`{"status":"failed","code":"http_failed"},{"steps":{"refund":"skipped"}},{"sends":{"hook":{"answer":1}}},{"limits":{"usd":0.01,"ms":2000,"tokens":100}},{"name":"short","expression":"size(outputs.t) < 10","min":0.5},{"expected":true}],` +
		`"repeat":5,"pass":4,"answers":{"ask":{"decision":"approved","values":{"n":1},"comment":"ok","by":"Ann"}},"stubs":{"crm":{"outputs":{"body":1}},"x":{"error":{"code":"http_failed","message":"down"}}},"tags":["must"],"from_run":"run_01m7z26njgm1r68xj6qyhfyvty","notes":"n","now":"2026-02-03T04:05:06Z"}]}`
	f, problems := parse(t, text)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if got := string(f.Encode()); got != text {
		t.Errorf("wrote\n%s\nwanted\n%s", got, text)
	}
	again, err := Decode(f.Encode())
	if err != nil || string(again.Encode()) != text {
		t.Errorf("read again: %v", err)
	}
}

func TestParse_reports_problems_with_their_place(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, pointer, detail string }{
		{`{"id":"A"}`, "/cases/0/id", "lower-case"},
		{`{"id":"a","inputz":{}}`, "/cases/0/inputz", "inputs"},
		{`{"id":"a","checks":[{"output":"x"}]}`, "/cases/0/checks/0", "needs one of"},
		{`{"id":"a","checks":[{"output":"x","equals":1,"contains":"a"}]}`, "/cases/0/checks/0/contains", "not both"},
		{`{"id":"a","checks":[{"equals":1}]}`, "/cases/0/checks/0/output", "name of an output"},
		{`{"id":"a","checks":[{"output":"x","matches":"("}]}`, "/cases/0/checks/0/matches", "regular expression"},
		{`{"id":"a","checks":[{"status":"done"}]}`, "/cases/0/checks/0/status", "succeeded or failed"},
		{`{"id":"a","checks":[{"steps":{"n":"gone"}}]}`, "/cases/0/checks/0/steps/n", "skipped"},
		{`{"id":"a","checks":[{"limits":{"dollars":1}}]}`, "/cases/0/checks/0/limits/dollars", "no member"},
		{`{"id":"a","checks":[{"expression":"broken("}]}`, "/cases/0/checks/0/expression", ""},
		{`{"id":"a","checks":[{"output":"x","equals":1,"ignore":["id"]}]}`, "/cases/0/checks/0/ignore/0", "JSON Pointer"},
		{`{"id":"a","repeat":2,"pass":3}`, "/cases/0/pass", "at most repeat"},
		{`{"id":"a","repeat":11}`, "/cases/0/repeat", "from 1 to 10"},
		{`{"id":"a","stubs":{"n":{}}}`, "/cases/0/stubs/n", "either outputs or error"},
		{`{"id":"a","answers":{"n":{"decision":"yes"}}}`, "/cases/0/answers/n/decision", "approved"},
		{`{"id":"a","now":"today"}`, "/cases/0/now", "time"},
		{`{"id":"a"},{"id":"a"}`, "/cases/1/id", "another case"},
		{`{"id":"a","inputs":{"t":"` + strings.Repeat("x", MaxCase) + `"}}`, "/cases/0", "1 MiB"},
		{`5`, "/cases/0", "must be an object"},
	} {
		_, problems := parse(t, `{"schema":"sluice.tests/v1","cases":[`+c.body+`]}`)
		found := false
		for _, p := range problems {
			found = found || p.Pointer == c.pointer && strings.Contains(p.Detail, c.detail)
		}
		if !found {
			t.Errorf("%.80s: problems %v, wanted %s: %s", c.body, problems, c.pointer, c.detail)
		}
	}
	if _, problems := parse(t, `{"schema":"sluice.tests/v1","gate":{"usd":"much","mode":"fast","pass_rate":2},"cases":[]}`); len(problems) != 3 {
		t.Errorf("problems of the gate: %v", problems)
	}
}

var tools = Tools{
	Expression: func(_ context.Context, source string, variables map[string]any) (any, error) {
		switch source {
		case "score":
			return 0.7, nil
		case "fails":
			return nil, flow.Errorf(flow.CodeExpressionFailed, "no such member")
		case "run.code":
			run := variables["run"].(map[string]any)
			return run["code"] == "http_failed", nil
		}
		return source == "true", nil
	},
	Schema: func(_ context.Context, _, value any) (string, error) {
		if flow.TypeOf(value) == "object" {
			return "", nil
		}
		return "it is no object", nil
	},
}

func TestEvaluate_decides_each_check(t *testing.T) {
	t.Parallel()
	r := &Result{
		State: flow.RunSucceeded, Outputs: object(t, `{"label":"refund","n":1.004,"o":{"id":7,"list":[1,2]},"text":"Hello world"}`),
		Steps: map[string]flow.StepState{"a": flow.StepSucceeded, "b": flow.StepSkipped}, Sends: map[string]any{"hook": object(t, `{"x":1}`)},
		USD: flow.USDOf(0.02), Tokens: 50, MS: 1200,
	}
	for check, want := range map[string]State{
		`{"output":"label","equals":"refund"}`:                           Passed,
		`{"output":"label","equals":"other"}`:                            Failed,
		`{"output":"gone","equals":"other"}`:                             Failed,
		`{"output":"n","equals":1}`:                                      Failed,
		`{"output":"n","equals":1,"within":0.01}`:                        Passed,
		`{"output":"n","equals":1.0040}`:                                 Passed,
		`{"output":"o","equals":{"list":[1,2],"id":8}}`:                  Failed,
		`{"output":"o","equals":{"list":[1,2],"id":8},"ignore":["/id"]}`: Passed,
		`{"output":"o","equals":{"list":[1,2]},"ignore":["/id"]}`:        Passed,
		`{"output":"o","equals":{"list":[1,2]}}`:                         Failed,
		`{"output":"o","equals":{"list":[1,3],"id":7}}`:                  Failed,
		`{"output":"label","one_of":["a","refund"]}`:                     Passed,
		`{"output":"label","one_of":["a"]}`:                              Failed,
		`{"output":"text","contains":["Hello","world"]}`:                 Passed,
		`{"output":"text","contains":["Hello","moon"]}`:                  Failed,
		`{"output":"text","not_contains":"moon"}`:                        Passed,
		`{"output":"text","not_contains":"world"}`:                       Failed,
		`{"output":"text","matches":"^Hello \\w+$"}`:                     Passed,
		`{"output":"text","matches":"^world"}`:                           Failed,
		`{"output":"o","schema":{"type":"object"}}`:                      Passed,
		`{"output":"text","schema":{"type":"object"}}`:                   Failed,
		`{"status":"succeeded"}`:                                         Passed,
		`{"status":"failed"}`:                                            Failed,
		`{"steps":{"a":"succeeded","b":"skipped","c":"skipped"}}`:        Passed,
		`{"steps":{"c":"succeeded"}}`:                                    Failed,
		`{"steps":{"a":"skipped"}}`:                                      Failed,
		`{"sends":{"hook":{"x":1},"other":null}}`:                        Passed,
		`{"sends":{"hook":{"x":2}}}`:                                     Failed,
		`{"sends":{"hook":null}}`:                                        Failed,
		`{"sends":{"other":{"x":1}}}`:                                    Failed,
		`{"limits":{"usd":0.02,"ms":1200,"tokens":50}}`:                  Passed,
		`{"limits":{"usd":0.019}}`:                                       Failed,
		`{"limits":{"ms":1199}}`:                                         Failed,
		`{"limits":{"tokens":49}}`:                                       Failed,
		`{"expression":"true"}`:                                          Passed,
		`{"expression":"false"}`:                                         Failed,
		`{"expression":"fails"}`:                                         Errored,
		`{"expression":"score","min":0.7}`:                               Passed,
		`{"expression":"score","min":0.8}`:                               Failed,
		`{"expression":"score"}`:                                         Errored,
		`{"output":"label","expected":true}`:                             Passed,
		`{"expected":true}`:                                              Passed,
		`{"output":"text","expected":true}`:                              Errored,
		`{"output":"label","equals":"other","watch":true}`:               Passed,
	} {
		f, problems := parse(t, `{"schema":"sluice.tests/v1","cases":[{"id":"a","expected":{"label":"refund"},"checks":[`+check+`]}]}`)
		if len(problems) > 0 {
			t.Errorf("%s: %v", check, problems)
			continue
		}
		if v := Evaluate(t.Context(), f, &f.Cases[0], r, tools, nil); v.State != want {
			t.Errorf("%s: %s (%s), wanted %s", check, v.State, v.Message, want)
		}
	}
}

func TestEvaluate_tells_failures_from_errors_and_missing_recordings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, checks string
		result       Result
		want         State
	}{
		{"a failed run", ``, Result{State: flow.RunFailed, Error: flow.Errorf(flow.CodeHTTPFailed, "404")}, Failed},
		{"an expected failure", `{"status":"failed","code":"http_failed"},{"expression":"run.code"}`, Result{State: flow.RunFailed, Error: flow.Errorf(flow.CodeHTTPFailed, "404")}, Passed},
		{"another failure", `{"status":"failed","code":"code_failed"}`, Result{State: flow.RunFailed, Error: flow.Errorf(flow.CodeHTTPFailed, "404")}, Failed},
		{"an outage", ``, Result{State: flow.RunFailed, Error: flow.Errorf(flow.CodeProviderUnavailable, "down")}, Errored},
		{"an expected outage", `{"status":"failed","code":"provider_unavailable"}`, Result{State: flow.RunFailed, Error: flow.Errorf(flow.CodeProviderUnavailable, "down")}, Passed},
		{"a canceled run", ``, Result{State: flow.RunCanceled}, Errored},
		{"a missing recording", `{"status":"failed"}`, Result{State: flow.RunFailed, Missing: "answer: not recorded"}, Stale},
	} {
		f, problems := parse(t, `{"schema":"sluice.tests/v1","cases":[{"id":"a","checks":[`+c.checks+`]}]}`)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if v := Evaluate(t.Context(), f, &f.Cases[0], &c.result, tools, nil); v.State != c.want {
			t.Errorf("%s: %s (%s), wanted %s", c.name, v.State, v.Message, c.want)
		}
	}
}

// testOf returns a test of n cases with two candidates. The second is the baseline.
func testOf(t *testing.T, n int, more string) *Plan {
	t.Helper()
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"c%02d"%s}`, i, more))
	}
	f, problems := parse(t, `{"schema":"sluice.tests/v1","cases":[`+strings.Join(list, ",")+`]}`)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return NewPlan(&Test{Spec: Spec{Cases: f.Select(nil), Candidates: []Candidate{{Label: "the draft", Draft: true}, {Label: "version 7", Version: 7}}, Baseline: 1}}, f)
}

func TestNewReport_compares_with_the_baseline(t *testing.T) {
	t.Parallel()
	p := testOf(t, 3, "")
	verdict := func(candidate int, id string, s State) Verdict {
		return Verdict{Candidate: candidate, Case: id, State: s, USD: flow.USDOf(0.01 * float64(2-candidate)), MS: int64(1000 * (candidate + 1))}
	}
	r := NewReport(p, []Verdict{
		verdict(0, "c00", Failed), verdict(0, "c01", Passed), verdict(0, "c02", Passed),
		verdict(1, "c00", Passed), verdict(1, "c01", Passed), verdict(1, "c02", Passed),
	})
	if want := "1 case got worse than version 7 (c00). 2 of 3 pass. $0.06, +100 %. p95 1.0 s, −1.0 s."; r.Summary != want || r.State != Failed {
		t.Errorf("%s: %s\nwanted %s", r.State, r.Summary, want)
	}
	if r := NewReport(p, nil); r.State != Pending || r.Candidates[0].Pending != 3 {
		t.Errorf("without verdicts: %+v", r)
	}
}

func TestNewReport_counts_repeats(t *testing.T) {
	t.Parallel()
	p := testOf(t, 1, `,"repeat":3,"pass":2`)
	if len(p.Items) != 3 || p.Items[2].Repeat != 2 {
		t.Fatalf("items: %+v", p.Items)
	}
	for _, c := range []struct {
		states []State
		want   State
	}{
		{[]State{Passed, Failed, Passed}, Passed}, {[]State{Passed, Failed, Failed}, Failed}, {[]State{Passed, Errored, Failed}, Errored},
		{[]State{Passed, Stale, Failed}, Stale}, {[]State{Passed, Passed}, Pending},
	} {
		var verdicts []Verdict
		for i, s := range c.states {
			verdicts = append(verdicts, Verdict{Candidate: 0, Case: "c00", Repeat: i, State: s})
		}
		if got := NewReport(p, verdicts).Cases[0].Results[0].State; got != c.want {
			t.Errorf("%v: %s, wanted %s", c.states, got, c.want)
		}
	}
	p.Spec.Repeat = 6
	if n := p.Spec.passes(p.File, &p.File.Cases[0]); n != 4 {
		t.Errorf("%d of 6 must pass, wanted 4", n)
	}
}

func TestIsClear_needs_more_than_chance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		better, worse int
		want          bool
	}{{3, 2, false}, {0, 5, false}, {0, 6, true}, {20, 5, true}, {0, 0, false}} {
		if got := isClear(c.better, c.worse); got != c.want {
			t.Errorf("%d better, %d worse: %v", c.better, c.worse, got)
		}
	}
	if low, high := interval(9, 10); low > 0.6 || low < 0.59 || high < 0.98 || high > 0.99 {
		t.Errorf("interval of 9 of 10: %f to %f", low, high)
	}
}
