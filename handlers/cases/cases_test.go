package cases_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/cases"
	"sluice/flow/library"
	"sluice/handlers/webtest"
)

// env is a server with a published flow, and an editor.
type env struct {
	*webtest.Env
	flow string
	b    *webtest.Browser
}

func setup(t *testing.T) *env {
	t.Helper()
	h := webtest.Setup(t)
	return &env{h, h.PublishedFlow(webtest.Greeting), h.As(flow.MemberEditor)}
}

func (e *env) path(rest string) string { return "/flows/" + e.flow + "/tests" + rest }

// file returns the cases of the flow.
func (e *env) file() *cases.File {
	e.T.Helper()
	f, _, err := e.Store.FindCaseFile(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil {
		e.T.Fatal(err)
	}
	return f
}

// send sends the form of a case.
func (e *env) send(path string, fields map[string]string) *webtest.Answer {
	e.T.Helper()
	return e.b.SendForm(path, fields, nil)
}

// ended waits for the end of the newest test, and returns it.
func (e *env) ended() *cases.Test {
	e.T.Helper()
	list, err := e.Store.ListTests(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow), "", 1)
	if err != nil || len(list) == 0 {
		e.T.Fatalf("%d tests: %v", len(list), err)
	}
	e.Ended(list[0].RunID)
	return &list[0]
}

// add adds a case in which Ada is greeted.
func (e *env) add(name, want string) {
	e.T.Helper()
	e.send(e.path("/new"), map[string]string{"name": name, "in.who": "Ada", "in.count": "2", "checks": "1", "check.0.output": "text", "check.0.kind": "equals", "check.0.value": want}).Is(http.StatusSeeOther)
}

func TestCases_are_added_changed_and_deleted(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.b.Get(e.path("")).Is(http.StatusOK).Has("No cases yet", "Add a case")
	e.b.Get(e.path("/new")).Is(http.StatusOK).Has("New case", "in.who", "Whom to greet.", "check.1.kind").Lacks("Delete case")
	fields := map[string]string{"name": "Greets Ada", "tags": "must, short", "in.who": "Ada", "in.count": "2", "checks": "3", "check.0.output": "text", "check.0.kind": "contains", "check.0.value": "Ada\n2 times", "check.1.kind": "limits", "check.1.value": "usd: 0", "check.1.watch": "on",
		"expected.0.value": "Hello Ada, 2 times", "repeat": "2", "notes": "From the manual."}
	e.send(e.path("/new"), fields).RedirectsTo(e.path("?case=greets-ada"))
	k := e.file().Find("greets-ada")
	want := `{"id":"greets-ada","name":"Greets Ada","inputs":{"who":"Ada","count":2},"expected":{"text":"Hello Ada, 2 times"},"checks":[{"output":"text","contains":["Ada","2 times"]},{"limits":{"usd":0},"watch":true}],"repeat":2,"tags":["must","short"],"notes":"From the manual."}`
	if got := string(flow.EncodeJSON(k.Object())); got != want {
		t.Fatalf("stored %s", got)
	}
	e.b.Get(e.path("/cases/greets-ada")).Is(http.StatusOK).Has("Greets Ada", "Ada\n2 times", "usd: 0", "Hello Ada, 2 times", "From the manual.", "Delete case")
	fields["name"], fields["expected.0.value"], fields["check.1.kind"], fields["check.1.value"] = "Greets", "", "", ""
	e.send(e.path("/cases/greets-ada"), fields).RedirectsTo(e.path("?case=greets-ada"))
	if k = e.file().Find("greets-ada"); k.Name != "Greets" || len(k.Checks) != 1 || k.Expected.Len() != 0 {
		t.Fatalf("changed to %s", flow.EncodeJSON(k.Object()))
	}
	e.b.Get(e.path("?case=greets-ada")).Has("Greets", "contains “Ada”, “2 times”", "Not run yet", "From the manual.")
	e.b.Post(e.path("/cases/greets-ada/delete"), nil).RedirectsTo(e.path(""))
	e.b.Get(e.path("")).Has("No cases yet", "was deleted")
	e.b.Get(e.path("/cases/greets-ada")).Is(http.StatusNotFound)
}

func TestCases_say_what_is_wrong_and_keep_what_was_typed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	fields := map[string]string{"name": "!", "in.who": "Ada", "checks": "2", "check.0.output": "text", "check.0.kind": "matches", "check.0.value": "(", "check.1.output": "text", "check.1.kind": "schema", "check.1.value": "{"}
	e.send(e.path("/new"), fields).Is(http.StatusUnprocessableEntity).Has("Use letters or digits in the name.", "This is not JSON")
	fields["name"], fields["check.1.value"] = "ok", "{}"
	e.send(e.path("/new"), fields).Is(http.StatusUnprocessableEntity).Has("Must be a regular expression (RE2): missing closing )", `>(</textarea>`, ">Ada</textarea>")
	fields["check.0.value"], fields["repeat"], fields["pass"] = "a", "2", "3"
	e.send(e.path("/new"), fields).Is(http.StatusUnprocessableEntity).Has("Must be at most repeat.")
	fields["pass"], fields["act"] = "", "add"
	e.send(e.path("/new"), fields).Is(http.StatusOK).Has("check.2.kind", "in.who")
	if n := len(e.file().Cases); n != 0 {
		t.Fatalf("stored %d cases", n)
	}
	delete(fields, "act")
	e.send(e.path("/new"), fields).Is(http.StatusUnprocessableEntity).Has("so the check can never fail")
	fields["check.1.value"] = `{"type": "string"}`
	e.send(e.path("/new"), fields).Is(http.StatusSeeOther)
	e.send(e.path("/new"), fields).Is(http.StatusUnprocessableEntity).Has("There is a case ok. Choose another name.")
	v := e.As(flow.MemberViewer)
	v.Get(e.path("")).Is(http.StatusOK).Lacks("Run all", "Rerun")
	v.Get(e.path("/new")).Is(http.StatusForbidden)
	v.Post(e.path(""), url.Values{}).Is(http.StatusForbidden)
}

func TestCases_run_with_the_draft_and_show_what_failed(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("good", "Hello Ada, 2 times")
	e.add("bad", "Good day Ada")
	e.b.Post(e.path(""), url.Values{"mode": {"replay"}}).RedirectsTo(e.path(""))
	first := e.ended()
	if first.Spec.Mode != flow.CaseReplay || !first.Spec.Candidates[0].Draft {
		t.Fatalf("spec %+v", first.Spec)
	}
	page := e.b.Get(e.path("")).Is(http.StatusOK).Has("Failed", "Passed", "Rerun 1 that didn’t pass", "1 of 2", "2 of 2", "Draft 1 of 2").Lacks(`id="poll-`)
	if bad, good := strings.Index(page.Body, `id="case-bad"`), strings.Index(page.Body, `id="case-good"`); bad < 0 || good < bad {
		t.Errorf("the failed case is not the first: %d, %d", bad, good)
	}
	e.b.Get(e.path("?state=failed")).Has("case-bad").Lacks("case-good")
	e.b.Get(e.path("?case=bad")).Has("is Good day Ada", "Hello Ada, 2 times", "Use as expected", "Open run", "Say hello")
	e.b.Post(e.path(""), url.Values{"only": {"failed"}}).RedirectsTo(e.path(""))
	if again := e.ended(); len(again.Spec.Cases) != 1 || again.Spec.Cases[0] != "bad" {
		t.Fatalf("reran %v", again.Spec.Cases)
	}
	e.b.Post(e.path(""), url.Values{"case": {"good"}}).RedirectsTo(e.path("?case=good"))
	one := e.ended()
	report, _, verdicts, err := e.Library.Tests.Report(t.Context(), one)
	_ = report
	if err != nil || len(verdicts) != 1 || verdicts[0].State != cases.Passed {
		t.Fatalf("%+v, %v", verdicts, err)
	}
	e.b.Post(e.path("/reports/"+first.ID+"/expect"), url.Values{"from": {"cases"}, "case": {"bad"}, "candidate": {"0"}}).RedirectsTo(e.path("?case=bad"))
	if got := string(flow.EncodeJSON(e.file().Find("bad").Object())); !strings.HasSuffix(got, `"expected":{"text":"Hello Ada, 2 times"},"checks":[{"output":"text","equals":"Hello Ada, 2 times"}]}`) {
		t.Errorf("expects %s", got)
	}
	e.b.Get(e.path("")).Has("before the last change")
	e.b.Post(e.path(""), url.Values{"case": {"none"}}).RedirectsTo(e.path("?case=none"))
	e.b.Get(e.path("")).Has("the flow has no case")
}

func TestReport_compares_the_draft_with_the_live_version(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("same", "Hello Ada, 2 times")
	e.send(e.path("/new"), map[string]string{"name": "worse", "tags": "must", "in.who": "Ada", "in.count": "2", "checks": "1", "check.0.output": "text", "check.0.kind": "contains", "check.0.value": "Hello"}).Is(http.StatusSeeOther)
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, "Hello {{who}}", "Bye {{who}}", 1))
	f, err := e.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil {
		t.Fatal(err)
	}
	started, _, err := e.Library.Tests.StartTest(t.Context(), flow.Actor{ID: "user"}, nil, "", f, library.TestRequest{Mode: flow.CaseReplay, Candidates: []library.CandidateRequest{{Draft: true}, {Draft: true, Set: map[string]any{"words.template": "Hello {{who}}, {{count}} times!"}}}, Baseline: &library.CandidateRequest{}})
	if err != nil {
		t.Fatal(err)
	}
	e.ended()
	report := e.path("/reports/" + started.ID)
	page := e.b.Get(report).Is(http.StatusOK).Has("2 cases got worse than version 1", "Draft with Hello {{who}}, {{count}} times!", "live, baseline", "Worse", "Make this the draft", "Rerun 2 that didn’t pass").Lacks(`id="poll-`)
	if n := strings.Count(page.Body, "Make this the draft"); n != 2 {
		t.Errorf("%d candidates can become the draft, wanted the changed draft and the live version", n)
	}
	e.b.Get(report+"?case=worse").Has("<del>Hello</del>", "<ins>Bye</ins>", "contains “Hello”", "Open run", "Edit case", "Use as expected")
	e.b.Get(report + "?case=worse&with=1").Has("<ins>!</ins>")
	e.b.Get(report+"?cases=worse&tag=must").Has("?cases=worse", "Rerun these 1").Lacks(">same</a>")
	e.b.Get(report + "?cases=stale").Has("No cases match.")
	e.b.Get(report + "/download?format=json").Is(http.StatusOK).Has(`"summary"`)
	e.As(flow.MemberViewer).Get(report+"?case=worse").Is(http.StatusOK).Lacks("Rerun", "Make this the draft", "Use as expected")

	again := e.b.Post(report+"/rerun", url.Values{"tag": {"must"}}).Is(http.StatusSeeOther).Header.Get("Location")
	second := e.ended()
	if again != e.path("/reports/"+second.ID) || len(second.Spec.Cases) != 1 || len(second.Spec.Candidates) != 3 || second.Spec.Baseline != 2 || second.Spec.Mode != flow.CaseReplay {
		t.Fatalf("reran %+v at %s", second.Spec, again)
	}
	e.b.Post(report+"/expect", url.Values{"case": {"worse"}, "candidate": {"0"}}).Is(http.StatusSeeOther)
	if k := e.file().Find("worse"); k.Expected.Get("text") != "Bye Ada, 2 times" {
		t.Errorf("expects %s", flow.EncodeJSON(k.Expected))
	}
	e.b.Post(report+"/draft", url.Values{"candidate": {"1"}}).RedirectsTo("/flows/" + e.flow)
	if got := e.Config(e.flow, "words", "template"); got != `"Hello {{who}}, {{count}} times!"` {
		t.Errorf("the draft says %q", got)
	}
	e.b.Post(report+"/draft", url.Values{"candidate": {"2"}}).RedirectsTo("/flows/" + e.flow)
	if got := e.Config(e.flow, "words", "template"); got != `"Hello {{who}}, {{count}} times"` {
		t.Errorf("the draft of version 1 says %q", got)
	}
	e.b.Get(e.path("/reports/test_01m7z26njgm1r68xj6qyhfyvty")).Is(http.StatusNotFound)
}

func TestRun_becomes_a_case_with_suggested_checks(t *testing.T) {
	t.Parallel()
	e := setup(t)
	run := e.RunDraft(e.b, e.flow, url.Values{"filled": {"1"}, "in.who": {"Mia"}, "in.count": {"4"}})
	e.b.Get("/runs/"+string(run.ID)).Has("Save as test case", "/tests/new?run="+string(run.ID))
	e.As(flow.MemberViewer).Get("/runs/" + string(run.ID)).Lacks("Save as test case")
	e.b.Get(e.path("/new?run="+string(run.ID))).Is(http.StatusOK).Has("Save as test case", "kept until you delete the case", ">Mia</textarea>", "Hello Mia, 4 times", `value="equals" selected`)
	if n := len(e.file().Cases); n != 0 {
		t.Fatalf("looking stored %d cases", n)
	}
	fields := map[string]string{"name": "Mia", "from_run": string(run.ID), "in.who": "Mia", "in.count": "4", "expected.0.value": "Hello Mia, 4 times", "checks": "1", "check.0.output": "text", "check.0.kind": "equals", "check.0.value": "Hello Mia, 4 times", "act": "run"}
	e.send(e.path("/new"), fields).RedirectsTo(e.path("?case=mia"))
	k := e.file().Find("mia")
	if k == nil || k.FromRun != run.ID || k.Seed == "" {
		t.Fatalf("stored %s", flow.EncodeJSON(k.Object()))
	}
	e.ended()
	e.b.Get(e.path("?case=mia")).Has("Passed", "Made from this run")
	e.b.Get(e.path("/new?run=" + string(run.ID))).RedirectsTo(e.path(""))
	e.b.Get(e.path("")).Has("has the same inputs")
	list, err := e.Store.ListTests(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	e.b.Get("/runs/" + string(list[0].RunID)).Lacks("Save as test case")
	fields["name"], fields["from_run"] = "other", "run_01m7z26njgm1r68xj6qyhfyvty"
	e.send(e.path("/new"), fields).RedirectsTo(e.path(""))
}

func TestCompare_starts_a_test_of_the_chosen_candidates(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	e.b.Get(e.path("/compare")).Is(http.StatusOK).Has("1 case for each candidate", "v1, live", "Compare with")
	e.b.Post(e.path("/compare"), url.Values{"baseline": {"none"}}).Is(http.StatusUnprocessableEntity).Has("Choose a candidate.")
	e.b.Post(e.path("/compare"), url.Values{"draft": {"on"}, "max_usd": {"much"}}).Is(http.StatusUnprocessableEntity).Has("Enter an amount such as 5 or 0.50.")
	e.b.Post(e.path("/compare"), url.Values{"draft": {"on"}, "model.0.field": {"words.template"}}).Is(http.StatusUnprocessableEntity).Has("Choose a node and enter a model.")
	e.b.Post(e.path("/compare"), url.Values{"draft": {"on"}, "tags": {"none"}}).Is(http.StatusUnprocessableEntity).Has("no case has one of these tags")
	e.b.Post(e.path("/compare?act=estimate"), url.Values{"draft": {"on"}, "baseline": {"live"}, "mode": {"replay"}}).Is(http.StatusOK).Has("Free: no step calls").Lacks("<form")
	e.b.Post(e.path("/compare?act=estimate"), url.Values{"draft": {"on"}, "tags": {"none"}}).Is(http.StatusOK).Has("no case has one of these tags")
	to := e.b.Post(e.path("/compare"), url.Values{"draft": {"on"}, "version": {"1"}, "model.0.field": {"words.template"}, "model.0.name": {"Hi {{who}}, {{count}} times"}, "baseline": {"live"}, "mode": {"replay"}}).Is(http.StatusSeeOther).Header.Get("Location")
	s := e.ended()
	if to != e.path("/reports/"+s.ID) || len(s.Spec.Candidates) != 4 || s.Spec.Baseline != 3 || s.Spec.Candidates[2].Set["words.template"] != "Hi {{who}}, {{count}} times" || s.Spec.Mode != flow.CaseReplay {
		t.Fatalf("started %+v at %s", s.Spec, to)
	}
	e.b.Get(to).Has("Draft with Hi {{who}}, {{count}} times", "1 worse, 0 better")
	e.As(flow.MemberViewer).Get(e.path("/compare")).Is(http.StatusForbidden)
}

// gate makes publishing need all cases.
func (e *env) gate(text string) {
	e.T.Helper()
	f, err := e.Store.FindFlow(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil {
		e.T.Fatal(err)
	}
	v, err := flow.DecodeJSON([]byte(text))
	if err != nil {
		e.T.Fatal(err)
	}
	g, problems := cases.ParseGate(v)
	if len(problems) > 0 {
		e.T.Fatal(problems)
	}
	if err := e.Library.Tests.SetSettings(e.T.Context(), flow.Actor{ID: "user"}, f, &cases.File{Gate: g}); err != nil {
		e.T.Fatal(err)
	}
}

// live returns the number of the live version.
func (e *env) live() int64 {
	e.T.Helper()
	f, err := e.Store.FindFlow(e.T.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil {
		e.T.Fatal(err)
	}
	return f.LiveVersion
}

func TestPublish_shows_what_the_gate_says(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	e.gate(`{}`)
	publish := "/flows/" + e.flow + "/publish"
	e.b.Get(publish).Lacks("needs a test")
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, "Hello {{who}}", "Bye {{who}}", 1))
	e.b.Get(e.path("")).Has("Publishing needs every case to pass.")
	e.b.Get(publish).Is(http.StatusOK).Has("Publishing needs a test of this draft.", "Test the draft").Lacks("Publish anyway", "costs money")
	e.b.Post(publish, url.Values{"note": {"Be polite"}}).Is(http.StatusConflict).Has("Testing the draft", "part=gate", "Be polite")
	e.ended()
	e.b.Get(publish+"?part=gate").Is(http.StatusOK).Has("The draft doesn’t pass its tests.", "greets", "Hello Ada, 2 times", "/tests/reports/test_", "Test again").Lacks("<html", "Publish anyway")
	e.b.Post(publish, nil).Is(http.StatusConflict).Has("The draft doesn’t pass its tests.")
	e.b.Post(publish, url.Values{"act": {"anyway"}, "reason": {"I know better"}}).Is(http.StatusUnprocessableEntity).Has("Only an owner can publish without passing tests.")
	owner := e.As(flow.MemberOwner)
	owner.Get(publish).Has("Publish anyway", "Reason")
	owner.Post(publish, url.Values{"act": {"anyway"}}).Is(http.StatusUnprocessableEntity).Has("Give a reason")
	if n := e.live(); n != 1 {
		t.Fatalf("version %d is live", n)
	}
	owner.Post(publish, url.Values{"act": {"anyway"}, "reason": {"The case is wrong"}}).Is(http.StatusSeeOther)
	if n := e.live(); n != 2 {
		t.Fatalf("version %d is live", n)
	}
	owner.Get("/flows/" + e.flow + "/versions").Has("Published without passing tests: The case is wrong")
	owner.Get("/settings/audit").Has("The case is wrong")
}

func TestPublish_starts_a_test_that_costs_money_on_demand(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hi Ada, 2 times")
	e.gate(`{"mode": "fill"}`)
	publish := "/flows/" + e.flow + "/publish"
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, "Hello {{who}}", "Hi {{who}}", 1))
	e.b.Get(publish).Has("Publishing needs a test of this draft.", "costs money")
	e.b.Post(publish, nil).Is(http.StatusConflict).Has("Publishing needs a test of this draft.")
	if tests, _ := e.Store.ListTests(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow), "", 1); len(tests) != 0 {
		t.Fatal("publishing started a test that may cost money")
	}
	e.b.Post(publish, url.Values{"act": {"test"}}).Is(http.StatusOK).Has("Testing the draft")
	e.ended()
	e.b.Get(publish).Has("The draft passes its tests.", "Publish v2")
	e.b.Post(publish, nil).Is(http.StatusSeeOther)
	if n := e.live(); n != 2 {
		t.Errorf("version %d is live", n)
	}
}

func TestCases_say_what_a_test_calls_and_costs(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	e.b.Get(e.path("")).Has("Free: no step calls a model or a service.")
	const page = `{"id":"page","kind":"web_page","config":{"url":"https://example.com/a"}},`
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, `"nodes":[`, `"nodes":[`+page, 1))
	e.b.Get(e.path("")).Has("1 call, free.")
	e.b.Get(e.path("?part=estimate&mode=replay")).Is(http.StatusOK).Has("Free: results are recorded ones.").Lacks("<html")
	e.b.Get(e.path("?part=estimate&mode=live&tag=none")).Is(http.StatusOK).Has("no case has one of these tags")
}

func TestForm_has_fields_for_checks_that_ask(t *testing.T) {
	t.Parallel()
	e := setup(t)
	fields := map[string]string{"name": "asks", "in.who": "Ada", "in.count": "2", "checks": "3", "check.0.output": "text", "check.0.kind": "similar", "check.0.min": "0,8", "expected.0.value": "Hello",
		"check.1.kind": "judge", "check.1.value": "Is polite.", "check.1.model": "openai/gpt-5-mini", "check.1.votes": "3", "check.1.against": "on", "check.1.min": "0.75", "check.2.kind": "flow", "check.2.value": "checker", "check.2.model": "hidden/model", "check.2.watch": "on"}
	e.send(e.path("/new"), fields).Is(http.StatusUnprocessableEntity).Has("Enter the least score as a number from 0 to 1, such as 0.8.")
	fields["check.0.min"] = "0.8"
	e.send(e.path("/new"), fields).Is(http.StatusSeeOther)
	want := `[{"output":"text","similar":true,"min":0.8},{"judge":"Is polite.","min":0.75,"model":"openai/gpt-5-mini","votes":3,"against":"baseline"},{"flow":"checker","watch":true}]`
	if got := string(flow.EncodeJSON(e.file().Find("asks").Object().Get("checks"))); got != want {
		t.Errorf("stored %s", got)
	}
	e.b.Get(e.path("/cases/asks")).Has(`value="similar" selected`, `value="judge" selected`, `value="flow" selected`, "openai/gpt-5-mini", `value="0.75"`).Lacks(`value="json" selected`)
	e.b.Get(e.path("?case=asks")).Has("means the same as expected", "openai/gpt-5-mini says “Is polite.”", "is right for the flow checker")
}

func TestLive_tests_execute_nodes_that_a_person_allows(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	const hook = `{"id":"send","kind":"webhook","label":"Send it","config":{"url":"https://example.com/hook"}},`
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, `"nodes":[`, `"nodes":[`+hook, 1))
	e.b.Get(e.path("")).Has("May change something outside", `name="allow"`, "Send it")
	e.b.Get(e.path("/compare")).Has("May change something outside", `value="send"`)
	for _, c := range []struct {
		mode string
		want int
	}{{"fill", 0}, {"live", 1}} {
		e.b.Post(e.path("/compare"), url.Values{"draft": {"on"}, "baseline": {"none"}, "mode": {c.mode}, "allow": {"send"}}).Is(http.StatusSeeOther)
		if s := e.ended(); len(s.Spec.Allow) != c.want {
			t.Errorf("%s allows %v", c.mode, s.Spec.Allow)
		}
	}
}

func TestCases_are_marked_as_flaky_with_their_rate(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.add("greets", "Hello Ada, 2 times")
	e.add("other", "Bye")
	for range 2 {
		e.b.Post(e.path(""), url.Values{"mode": {"replay"}}).Is(http.StatusSeeOther)
		e.ended()
	}
	e.b.Get(e.path("")).Lacks("flaky")
	last := e.ended()
	file := e.file()
	// As if the newest run of the case had failed: outputs of models differ, those of this flow do not.
	v := cases.Verdict{Case: "greets", Repeat: 5, State: cases.Failed, Checks: []cases.Outcome{}}
	if err := e.Store.SaveVerdicts(t.Context(), last, 100, []cases.Verdict{v}); err != nil {
		t.Fatal(err)
	}
	e.b.Get(e.path("")).Has("flaky, passes 2 of 3")
	e.b.Get(e.path("/reports/"+last.ID)).Has("flaky, passes 2 of 3", "?cases=flaky")
	e.b.Get(e.path("/reports/" + last.ID + "?cases=flaky")).Has(">greets</a>").Lacks(">other</a>")
	k := *file.Find("greets")
	k.Notes = "Changed."
	f, err := e.Store.FindFlow(t.Context(), flow.DefaultWorkspace, flow.FlowID(e.flow))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Library.Tests.SetCase(t.Context(), flow.Actor{ID: "user"}, f, &k); err != nil {
		t.Fatal(err)
	}
	e.b.Get(e.path("")).Lacks("flaky, passes")
}
