package e2e

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/e2e/chrome"
)

// firstCallClicks is the maximum number of clicks from the first page to a call.
const firstCallClicks = 6

// TestFirstCall follows a new user from the link in the terminal to the response to a call:
// create the owner, open the API tab, create a key, copy the code, paste it.
func TestFirstCall(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("handlers/editor has what a browser can race for")
	}
	s := newServer(t)
	tab := chrome.Start(t).Open(t, s.setupLink())
	tab.AllowClipboard(s.base())
	startedAt, clicks := time.Now(), 0
	click := func(selector string) { clicks++; tab.Click(selector) }

	tab.Type("#field-name", "Ada")
	tab.Type("#field-email", ownerEmail)
	tab.Type("#field-password", passphrase)
	tab.Type("#field-workspace", "Acme support")
	click("#setup button:not([type=button])")
	tab.There("flow-canvas[ready]")
	click("#tab-api")
	tab.Has("#api-state", "live")
	click("#flow-keys form[method=post] button[type=submit]")
	tab.There("[data-new-key]")
	tab.Until(`document.getElementById("api-code").textContent.includes(document.querySelector("[data-new-key]").textContent.trim())`)
	tab.Shot("journey-key")
	click("#api-snippets [data-copy-from=api-code]")
	tab.There("#api-snippets [data-copied]")
	command := chrome.Value[string](tab, `navigator.clipboard.readText()`)
	shell := exec.Command("sh", "-c", command)
	shell.Env = environment()
	out, err := shell.CombinedOutput()
	if took := time.Since(startedAt); clicks > firstCallClicks {
		t.Errorf("the first call took %d clicks and %s", clicks, took)
	} else {
		t.Logf("the first call took %d clicks and %s", clicks, took.Round(time.Millisecond))
	}
	if err != nil || !strings.Contains(string(out), `"status":"succeeded"`) {
		t.Fatalf("%v from\n%s\n%s", err, command, out)
	}
	tab.Has("#api-calls", "ucceeded")
	tab.Shot("journey-called")
}
