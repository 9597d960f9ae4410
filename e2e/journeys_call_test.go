package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/e2e/chrome"
)

// firstCallClicks is the largest number of clicks from the link in the terminal to the
// first call.
const firstCallClicks = 8

// TestFirstCall follows a new user from the link in the terminal to the response to a call:
// create the owner, run the sample flow and see the right answer, publish it, create a
// key with the command, paste the command, and see the call arrive. After the owner is
// made, no page is loaded again.
func TestFirstCall(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("handlers/editor has what a browser can race for")
	}
	s := newServer(t)
	tab := chrome.StartAlone(t).Open(t, s.setupLink())
	tab.AllowClipboard(s.base())
	startedAt, clicks := time.Now(), 0
	click := func(selector string) { clicks++; tab.Click(selector) }

	tab.Type("#field-name", "Ada")
	tab.Type("#field-email", ownerEmail)
	tab.Type("#field-password", passphrase)
	tab.Type("#field-workspace", "Acme support")
	click("#setup button:not([type=button])")
	tab.There("flow-canvas[ready]")
	tab.Eval("window.same = true") // is gone when a page is loaded

	click("#run-button")
	click("#run-form button[type=submit]") // with the example of the input
	tab.Has(".result-pane", "billing")
	tab.Shot("journey-answer")
	click("#publish-button a")
	click("#publish-dialog footer button")
	tab.Has("#publish-dialog", "Listening for your first call")
	click("#publish-dialog [data-key-and-copy]")
	tab.Until(`/slu_(?!YOUR_KEY)/.test(document.getElementById("first-command").textContent)`)
	tab.There("#publish-dialog [data-copied]")
	command := chrome.Value[string](tab, `navigator.clipboard.readText()`)
	shell := exec.Command("sh", "-c", command)
	shell.Env = environment()
	out, err := shell.CombinedOutput()
	if took := time.Since(startedAt); clicks > firstCallClicks {
		t.Errorf("the first call took %d clicks and %s", clicks, took)
	} else {
		t.Logf("the first call took %d clicks and %s", clicks, took.Round(time.Millisecond))
	}
	if err != nil || !strings.Contains(string(out), `"status":"succeeded"`) || !strings.Contains(string(out), `"team":"billing"`) {
		t.Fatalf("%v from\n%s\n%s", err, command, out)
	}
	tab.Has("#publish-dialog", "Your first call arrived")
	if called := chrome.Value[string](tab, `document.querySelector("[data-first-call]").dataset.received`); !strings.Contains(string(out), called) {
		t.Errorf("the page shows %s as the first call, not the one of\n%s", called, out)
	}
	tab.Until(`document.querySelector("#run-bar")?.textContent.includes("ucceeded") && document.querySelector("#canvas-nodes [data-state=succeeded]") !== null`)
	tab.Shot("journey-called")
	tab.Click("#publish-dialog [data-close]")
	tab.Click("#tab-api")
	tab.Has("#flow-keys .key-list", "Key 1")
	tab.Until(`!document.querySelector("#flow-keys .key-list").textContent.includes("not used yet")`) // soon after the call, without a reload
	if !chrome.Value[bool](tab, "window.same === true") {
		t.Error("a page was loaded again on the way")
	}
}

// TestTestCall publishes a flow and tries it without a terminal: the code is there in other
// languages, keeps the key that was made, and a test call shows its answer in the dialog
// and on the canvas.
func TestTestCall(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	tab := d.signIn(t, ownerEmail, "/flows/"+d.flowNamed("Route a support ticket"))
	tab.There("flow-canvas[ready]")
	tab.Click("#publish-button a")
	tab.Click("#publish-dialog footer button")
	tab.Has("#publish-dialog", "v1 is live")
	tab.Click("#publish-dialog [data-key-and-copy]")
	tab.Until(`/slu_(?!YOUR_KEY)/.test(document.getElementById("first-command").textContent)`)
	tab.Click(`[data-first-language*="lang=python"]`)
	tab.Has("#first-command", "import json")
	tab.Until(`/KEY = "slu_(?!YOUR_KEY)/.test(document.getElementById("first-command").textContent)`)
	tab.Click("[data-test-call] button")
	tab.Has("[data-first-call]", "The test call succeeded")
	tab.Has("[data-first-call]", "team: billing · confidence: 0.9")
	tab.There(`.live-picture [data-step="team"][data-state="succeeded"]`)
	tab.There(`.live-picture [data-step="other_reply"][data-state="skipped"]`)
	tab.Shot("journey-test-call")
	tab.Click("#publish-dialog [data-close]")
	tab.Has(".result-pane .result-next", "v1 is live")
	tab.Has(".result-pane .label-scores .best", "billing")
	tab.Has("#node-is_billing", "true billing")
	tab.Click(".result-next a")
	tab.There("#tab-api[aria-selected=true]")
}

// TestTestCall_without_outputs publishes a flow that gives nothing back: the dialog says so when
// the test call has ended.
func TestTestCall_without_outputs(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	doc := documentOf("Nothing back", []object{input("q"), node("short", "summarize", object{})}, "q.value > short.text")
	id := strings.TrimSpace(d.must("flow", "import", writeFile(t, "flow.json", doc)))
	tab := d.signIn(t, ownerEmail, "/flows/"+id)
	tab.There("flow-canvas[ready]")
	tab.Click("#publish-button a")
	tab.Click("#publish-dialog footer button")
	tab.Has("#publish-dialog", "v1 is live")
	tab.Click("[data-test-call] button")
	tab.Has("[data-first-call]", "This run has no outputs.")
}
