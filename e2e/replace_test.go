package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// largeFlow is a document of 400 templates and more than 3 MiB, in which every text differs
// from that of another word.
func largeFlow(word string) object {
	d := object{"schema": "sluice.flow/v1", "name": "Large", "slug": "large", "groups": []any{}}
	nodes := []any{node("who", "input", object{"name": "name"}), output("text")}
	edges := []any{}
	for i := range 400 {
		id := fmt.Sprint("t", i)
		nodes = append(nodes, node(id, "template", object{"template": strings.Repeat(word+" ", 8000/len(word)) + "{{who}}"}))
		edges = append(edges, object{"from": "who.value", "to": id + ".who"})
	}
	d["nodes"], d["edges"] = nodes, append(edges, object{"from": "t0.text", "to": "out_text.value"})
	return d
}

// TestReplaceDraft_large_while_open replaces a draft of several MiB over HTTP while it is open in an editor
// with an edit that is not saved yet. The editor asks to reload, which loses neither edit, and
// what the editor did can still be undone.
func TestReplaceDraft_large_while_open(t *testing.T) {
	t.Parallel()
	site := newDashboard(t)
	c := site.client(site.key("--scope", "edit,read"))
	made := c.want(201, "POST", "/v1/flow", largeFlow("before"))
	id := made.object(t)["flow_id"].(string)
	tab := site.signIn(t, ownerEmail, "/flows/"+id)
	tab.Allow("410 (Gone)") // what makes it reload
	tab.There("flow-canvas[ready]")
	commit := func(node, field, text string) {
		t.Helper()
		tab.Eval(`document.querySelector("flow-canvas").commit("Edit", [{op: "set", node: "` + node + `", field: "` + field + `", value: ` + quoted(text) + `}])`)
	}
	shown := func(node, field, text string) {
		t.Helper()
		tab.Until(`(document.querySelector("flow-canvas").document().nodes.find((n) => n.id === "` + node + `")?.config.` + field + `)?.startsWith(` + quoted(text) + `)`)
	}
	saved := func() { t.Helper(); tab.Until(`document.querySelector("flow-canvas").sync.waiting === 0`) }
	commit("who", "description", "Drawn first.")
	saved()

	read := c.want(200, "GET", "/v1/flow/large/document?version=draft", nil)
	// The next edit stays in the editor until the draft was replaced, as on a slow connection.
	tab.Eval(`window.was = window.fetch; window.held = []; window.fetch = (...a) => new Promise((go) => held.push(() => go(was(...a))))`)
	commit("t1", "template", "Drawn meanwhile {{who}}")
	next := largeFlow("after")
	nodes := next["nodes"].([]any)
	next["nodes"] = append(nodes[200:len(nodes):len(nodes)], nodes[:200]...) // also in another order
	nodes[0].(object)["config"].(object)["description"] = "Drawn first."
	c.want(200, "PUT", "/v1/flow/large", next, "If-Match: "+read.header.Get("ETag"))
	c.want(412, "PUT", "/v1/flow/large", next, "If-Match: "+read.header.Get("ETag"))
	tab.Eval(`window.fetch = was; for (const go of held) go()`)
	tab.Until(`document.getElementById("save-state").dataset.state === "reload"`)
	tab.Eval(`[...document.querySelectorAll(".toast button")].find((b) => b.textContent.trim() === "Reload").click()`)
	tab.Until(`!window.held`)
	tab.There("flow-canvas[ready]")
	shown("t2", "template", "after")
	shown("t1", "template", "Drawn meanwhile")
	saved()
	tab.Eval(`document.querySelector("flow-canvas").history.undo()`)
	saved()
	shown("t1", "template", "before") // what was there when it was edited
	var draft struct {
		Nodes []struct {
			ID     string
			Config object
		}
	}
	if err := json.Unmarshal(c.want(200, "GET", "/v1/flow/large/document?version=draft", nil).body, &draft); err != nil {
		t.Fatal(err)
	}
	if len(draft.Nodes) != 402 || draft.Nodes[0].ID != "t198" {
		t.Errorf("the draft has %d nodes and begins with %s", len(draft.Nodes), draft.Nodes[0].ID)
	}
	for _, n := range draft.Nodes {
		if text, _ := n.Config["template"].(string); n.ID[0] == 't' && n.ID != "t1" && !strings.HasPrefix(text, "after") {
			t.Errorf("%s has the template %.20q", n.ID, text)
		}
	}
}

// TestReplaceDraft_can_be_undone replaces a draft over HTTP while a person has it open. The
// builder shows a note and can undo the replacement, which keeps edits made since. The
// page of versions can do so later, too.
func TestReplaceDraft_can_be_undone(t *testing.T) {
	t.Parallel()
	site := newDashboard(t)
	c := site.client(site.key("--scope", "edit,read"))
	document := func(word string) (d object) {
		if err := json.Unmarshal([]byte(greet("Greet", word, "name")), &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	id := c.want(201, "POST", "/v1/flow", document("Hello")).object(t)["flow_id"].(string)
	replace := func(word string) {
		t.Helper()
		read := c.want(200, "GET", "/v1/flow/greet/document?version=draft", nil)
		c.want(200, "PUT", "/v1/flow/greet", document(word), "If-Match: "+read.header.Get("ETag"))
	}
	stored := func(want ...string) {
		t.Helper()
		text := string(c.want(200, "GET", "/v1/flow/greet/document?version=draft", nil).body)
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("the draft lacks %q: %s", w, text)
			}
		}
	}
	tab := site.signIn(t, ownerEmail, "/flows/"+id)
	tab.There("flow-canvas[ready]")
	shown := func(word string) {
		t.Helper()
		tab.Until(`JSON.stringify(document.querySelector("flow-canvas").document()).includes(` + quoted(word+" {{") + `)`)
	}
	says := `document.querySelector("#replaced:not([hidden]) .note")?.textContent.includes("replaced over the API by the key “test”")`

	replace("Good day")
	shown("Good day")
	tab.Until(says)
	// Later edits of the person stay when the replacement before them is undone.
	tab.Eval(`document.querySelector("flow-canvas").commit("Edit", [{op: "set", node: document.querySelector("flow-canvas").document().nodes.find((n) => n.kind === "input").id, field: "description", value: "Drawn since."}])`)
	tab.Until(`document.querySelector("flow-canvas").sync.waiting === 0`)
	tab.Eval(`[...document.querySelectorAll("#replaced button")].find((b) => b.textContent.includes("Undo")).click()`)
	tab.Until(`document.querySelector("#replaced")?.hidden`)
	shown("Hello")
	stored("Hello {{", "Drawn since.")

	// A reload shows the note of a new replacement; Keep hides it.
	replace("Good evening")
	tab.Until(says)
	tab.Go(site.base() + "/flows/" + id)
	tab.There("flow-canvas[ready]")
	tab.Until(says)
	tab.Eval(`[...document.querySelectorAll("#replaced a")].find((b) => b.textContent.includes("Keep")).click()`)
	tab.Until(`document.querySelector("#replaced")?.hidden`)
	stored("Good evening {{")

	// The page of versions has the same, without the one that was undone.
	tab.Go(site.base() + "/flows/" + id + "/versions")
	tab.Until(`document.querySelectorAll("form[action$='/replaced/undo']").length === 1`)
	tab.Eval(`document.querySelector("form[action$='/replaced/undo'] button").click()`)
	tab.Until(`document.readyState === "complete" && document.querySelectorAll("form[action$='/replaced/undo']").length === 0`)
	stored("Hello {{")
}
