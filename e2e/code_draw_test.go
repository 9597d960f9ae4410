package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// TestDrawCode draws a flow with code in the builder: ports from names, marks and
// completion while typing, Try with the values of a run, and the log on the run's page.
func TestDrawCode(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	addNode(e.Tab, "input")
	e.There("#node-input [data-port]")
	e.Drag(e.Middle("#node-input header"), fivePlaces["input"])
	e.saved()
	addNode(e.Tab, "code")
	e.There(port("code", "result", "out"))
	e.Drag(e.Middle("#node-code header"), fivePlaces["summarize"])
	e.saved()
	for field, name := range map[string]string{"inputs": "text", "outputs": "words"} {
		e.Eval(fmt.Sprintf(`document.querySelector('[data-key="set:%s"] input:not([type=hidden])').focus()`, field))
		e.Keys(name)
	}
	e.There(port("code", "text", "in"))
	e.There(port("code", "words", "out"))
	e.saved()
	addNode(e.Tab, "output")
	e.There("#node-output [data-port]")
	e.Drag(e.Middle("#node-output header"), fivePlaces["output"])
	e.saved()
	e.wire("input", "value", "code", "text")
	e.wire("code", "words", "output", "value")

	e.Click("#node-code header")
	const code = `[data-key="set:code"]`
	e.There(code + " textarea")
	e.Eval(`document.querySelector('` + code + ` textarea').focus()`)
	e.There(code + " .cm-editor.cm-focused")
	e.Has(code+" .cm-content", "export default function ({ value })") // what a new node begins with
	e.There(code + " .cm-lintRange-warning")                          // value is not an input any more
	e.chord("a", "Control")
	e.Keys(kb.Delete)
	e.Keys("export default (i) => ({ words: i.")
	e.chord(" ", "Control") // on a busy machine, the list that typing opens may be closed by a late update
	e.There(".cm-tooltip-autocomplete [aria-selected]")
	e.Has(".cm-tooltip-autocomplete", "text")
	e.Shot("journey-code-completion")
	e.Keys("text.split(' ').length")
	e.Keys(kb.End)
	e.Keys(";")
	e.saved()
	e.Gone(code + " .cm-lintRange-error")

	e.Click("[data-try]")
	e.Has("[data-tried]", "No test value for \"text\"")
	e.Shot("journey-code-tried-empty")
	e.Has("[data-tried]", "Line 1: TypeError: cannot read property 'split' of null")

	c := d.client(d.key("--scope", "edit", "--scope", "run", "--scope", "read"))
	c.want(200, "POST", "/v1/flow/"+e.flow+"/publish", object{})
	r := c.await(c.start(e.flow, object{"input": "three short words"}))
	if fmt.Sprint(r.Outputs) != "map[output:3]" {
		t.Errorf("the run gave %+v", r)
	}
	e.Click(code + " .cm-content")
	e.chord("a", "Control")
	e.Keys(kb.Delete)
	e.Keys("export default (i) => { console.log('text is', i.text); return { words: 7 }; }")
	e.Eval(`document.querySelector("[data-tried]").replaceChildren()`)
	e.Keys(kb.Escape)
	e.chord(kb.Enter, "Control", "Shift") // without waiting until it is saved: Try takes what is typed
	e.Has("[data-tried]", "With the values of the last run")
	e.Has("[data-tried] .log", "text is three short words")
	e.Has("[data-tried]", "7")
	e.Shot("journey-code-tried")
	e.Theme("dark")
	e.Shot("journey-code-tried-dark")

	e.Go(d.base() + "/flows/" + e.flow + "/node/code") // the page of a node, which phones and browsers without scripts use
	e.Click("[data-try]")
	e.Has("[data-tried]", "With the values of the last run")
	e.Has("[data-tried]", "words")

	logged := c.await(c.start(d.publish(coded("export default ({ n }) => { console.log('n is', n); return n; }")), object{"n": "5"}))
	e.Go(d.base() + "/runs/" + logged.ID + "?step=run&tab=log")
	e.Has("#step .log", "n is 5")
	e.Shot("journey-code-run")
}

// TestTyping_survives_pane_update types into a field while another edit gives the node other
// fields: the text is kept and saved, and the field keeps the focus.
func TestTyping_survives_pane_update(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	addNode(e.Tab, "code")
	e.There(`[data-key="set:outputs"] input:not([type=hidden])`)
	e.saved()
	e.Eval(`{
		const row = document.querySelector('[data-key="set:outputs"] input:not([type=hidden])');
		row.focus();
		document.querySelector("flow-canvas").commit("Other inputs", [{ op: "set", node: "code", field: "inputs", value: ["first", "second"] }]);
		row.value = "words";
		row.dispatchEvent(new Event("input", { bubbles: true }));
	}`)
	e.There(`[data-key="set:second"]`)
	e.There(port("code", "words", "out"))
	e.saved()
	e.Until(`document.activeElement.closest('[data-key="set:outputs"]') !== null && document.activeElement.value === "words"`)
	if n := e.draft().Node("code"); fmt.Sprint(n.Config["outputs"], n.Config["inputs"]) != "[words] [first second]" {
		t.Errorf("the node is %v", n.Config)
	}
}
