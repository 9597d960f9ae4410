package cases_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
)

// say changes the words of the draft.
func (e *env) say(template string) {
	e.Replace(flow.FlowID(e.flow), strings.Replace(webtest.Greeting, "Hello {{who}}, {{count}} times", template, 1))
}

// TestNewcomer_protects_a_prompt_with_a_case saves a run as a case, breaks the prompt, sees the test fail and publishing refused, repairs it and publishes.
func TestNewcomer_protects_a_prompt_with_a_case(t *testing.T) {
	e := setup(t)
	run := e.RunDraft(e.b, e.flow, url.Values{"filled": {"1"}, "in.who": {"Mia"}, "in.count": {"4"}})
	p := e.Open(chrome.Start(t), flow.MemberEditor, "/runs/"+string(run.ID))
	p.Click(`.head a[href*="/tests/new"]`)
	p.Has("h1", "Save as test case")
	p.Type("#field-name", "Greets Mia")
	p.Shot("case-from-run")
	p.Click(`#case-form [name="act"][value="run"]`)
	p.Until(`document.querySelector("#case-greets-mia [data-state=passed]") !== null`)
	p.Shot("cases")
	e.gate(`{}`)

	p.Go(e.Http.URL + e.path(""))
	p.Has(".gate-line", "Publishing needs every case to pass.")
	e.say("Bye {{who}}, {{count}} times")
	p.Go(e.Http.URL + e.path(""))
	p.Has("#case-greets-mia", "before the last change")
	p.Click(".head .btn.primary")
	p.Until(`document.querySelector("#case-greets-mia [data-state=failed]") !== null && document.querySelector("#tests [id^=poll-]") === null`)
	p.Click("#case-greets-mia a.row")
	p.Has(".case-detail", "Bye Mia, 4 times")
	p.Shot("cases-failed")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("cases-failed-phone")
	p.Size(1440, 900)
	p.Click(".report-list li:first-child a")
	p.Has(".report-lead", "0 of 1 pass")
	p.Shot("report-lead")
	p.Theme("dark")
	p.Shot("report-lead-dark")
	p.Theme("light")
	p.Click(".report-cases a.row")
	p.Has("#open-case", "Bye")
	p.Until(`document.querySelector("#open-case del").textContent === "Hello" && document.querySelector("#open-case ins").textContent === "Bye"`)
	p.Shot("report")
	p.Phone()
	p.Until(`document.documentElement.scrollWidth <= innerWidth`)
	p.Shot("report-phone")
	p.Size(1440, 900)

	p.Allow("409") // publishing is refused
	p.Go(e.Http.URL + "/flows/" + e.flow)
	p.Click("#publish-button a")
	p.Has("#publish-dialog", "The draft doesn’t pass its tests.")
	p.Has("#publish-dialog", "Greets Mia")
	p.Shot("publish-refused")
	if n := e.live(); n != 1 {
		t.Fatalf("version %d is live", n)
	}

	p.Go(e.Http.URL + e.path("/cases/greets-mia"))
	p.Until(`document.querySelector('[name="check.0.value"]').value === "Hello Mia, 4 times"`)
	p.Eval(`document.querySelector('[name="check.0.value"]').value = "Dear Mia, 4 times"; document.querySelector('[name="expected.0.value"]').value = "Dear Mia, 4 times"`)
	p.Click("#case-form .bar .primary")
	p.Has("#tests", "is Dear Mia, 4 times")
	e.say("Dear {{who}}, {{count}} times")
	p.Go(e.Http.URL + "/flows/" + e.flow)
	p.Click("#publish-button a")
	p.Has("#publish-dialog", "Publishing needs a test of this draft.")
	p.Click(`#publish-gate [value="test"]`)
	p.Has("#publish-gate", "The draft passes its tests.")
	p.Shot("publish-passed")
	p.Click("#publish-gate .btn.primary")
	p.Has("#publish-dialog", "New runs use v2.")
	if n := e.live(); n != 2 {
		t.Errorf("version %d is live", n)
	}
}

// TestNewcomer_adds_a_case_with_the_keyboard fills in the form without a mouse.
func TestNewcomer_adds_a_case_with_the_keyboard(t *testing.T) {
	e := setup(t)
	p := e.Open(chrome.Start(t), flow.MemberEditor, e.path("/new"))
	p.Eval(`document.querySelector("#field-name").focus()`)
	p.Keys("Greets Ada" + kb.Tab + "must" + kb.Tab)
	p.Until(`document.activeElement.name === "in.who"`)
	p.Keys("Ada" + kb.Tab + "2" + kb.Tab)
	p.Until(`document.activeElement.name === "check.0.output"`)
	p.Keys("text" + kb.Tab + "contains" + kb.Tab + "Ada" + kb.Tab)
	p.Until(`document.querySelector('[name="check.0.kind"]').value === "contains"`)
	p.Eval(`document.querySelector("#field-name").focus()`)
	p.Keys(kb.Enter)
	p.Until(`document.querySelector("#case-greets-ada") !== null`)
	k := e.file().Find("greets-ada")
	if k == nil || len(k.Checks) != 1 || k.Checks[0].Output != "text" || len(k.Tags) != 1 {
		t.Fatalf("stored %s", flow.EncodeJSON(k.Object()))
	}
}
