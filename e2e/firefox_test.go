package e2e

import (
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/e2e/firefox"
)

// TestFirefox draws a flow in Firefox by mouse and keyboard: connect, copy and paste, undo, run,
// publish, the page of the run. Then it holds a conversation on a form page.
func TestFirefox(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("handlers/editor has what a browser can race for")
	}
	d, chat, _ := chatPageServer(t)
	p := firefox.Open(t, d.base()+"/flows")
	p.Type("#field-email", ownerEmail)
	p.Type("#field-password", passphrase)
	p.Keys(firefox.Enter)
	p.Until(`!document.querySelector("#sign-in")`)

	p.Click(".head details.menu summary")
	p.Click(".head details.menu .sheet form button.item")
	p.There("flow-canvas[ready]")
	saved := func() {
		t.Helper()
		p.Until(`document.querySelector("flow-canvas").sync.waiting === 0 && document.querySelector("#save-state").dataset.state === "saved"`)
	}
	want := func(shape string) {
		t.Helper()
		saved()
		p.Until(fmt.Sprintf(`(() => { const d = document.querySelector("flow-canvas").document();
			return [...d.nodes.map((n) => n.id).sort(), "|", ...d.edges.map((e) => e.from + ">" + e.to).sort()].join(" ") === %q; })()`, shape))
	}
	firefox.Value[any](p, `document.querySelector("flow-canvas article").focus()`)
	p.Chord(firefox.Control, "a")
	p.Keys(firefox.Delete)
	want("|")
	for i, kind := range []string{"input", "sentiment", "output"} {
		p.Click("#palette-search")
		p.Click(fmt.Sprintf("#palette button[data-kind=%q]", kind))
		p.There("#node-" + kind + " [data-port]")
		p.Drag(p.Middle("#node-"+kind+" header"), chrome.Point{X: 340 + 280*float64(i), Y: 200})
		saved()
	}
	p.Drag(p.Middle(port("input", "value", "out")), p.Middle(port("sentiment", "text", "in")))
	p.Drag(p.Middle(port("sentiment", "label", "out")), p.Middle(port("output", "value", "in")))
	const drawn = "input output sentiment | input.value>sentiment.text sentiment.label>output.value"
	want(drawn)
	p.Shot("firefox-drawn")

	p.Click("#node-sentiment header")
	p.Chord(firefox.Control, "c")
	p.Chord(firefox.Control, "v")
	p.There("#node-sentiment_2")
	saved()
	p.Shot("firefox-pasted")
	p.Chord(firefox.Control, "z")
	want(drawn)

	p.Click("#run-button")
	p.There("#run-dialog #run-form")
	p.Type("#run-form textarea, #run-form input[type=text]", "I love it.")
	p.Shot("firefox-form")
	p.Click("#run-form footer button:not([type=button])")
	p.Has("#run-bar", "ucceeded")
	p.Has("#node-sentiment", "positive")
	p.Shot("firefox-run")
	p.Click("#publish-button a")
	p.There("#publish-dialog")
	p.Click(`#publish-dialog form button:is([type=submit], :not([type]))`)
	p.Has("#flow-state", "v1 live")
	p.Shot("firefox-published")

	id := strings.TrimPrefix(firefox.Value[string](p, "location.pathname"), "/flows/")
	c := d.client(d.key())
	run := c.await(c.start(id, object{"input": "I hate it."}))
	p.Go(d.base() + "/runs/" + run.ID)
	p.Has("main", "negative")
	p.Shot("firefox-run-page")

	p.Go(d.base() + "/f/" + chat)
	p.Type("#message", "Hello")
	p.Keys(firefox.Enter)
	p.Has(".turn.assistant:last-child", "What do you need?")
	p.Shot("firefox-chat")
}
