package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/e2e/chrome"
)

// TestDrawMap draws a map in the builder, where choosing a flow makes the ports of the
// node. It then follows a run from the canvas to its items: filters, a rerun of one
// item, and a retry of the failed ones.
func TestDrawMap(t *testing.T) {
	t.Parallel()
	up := newItemServer(t, 2)
	d := newDashboard(t)
	child := d.publish(doubling(up.URL))
	e := d.begin(t, d.signIn(t, ownerEmail, "/flows"))
	choose := func(field, value string) {
		t.Helper()
		e.There(fmt.Sprintf(`[data-key="set:%s"] select`, field))
		e.Eval(fmt.Sprintf(`{ const s = document.querySelector('[data-key="set:%s"] select'); s.value = %q; s.dispatchEvent(new Event("input", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true })); }`, field, value))
	}
	addNode(e.Tab, "input")
	e.There("#node-input [data-port]")
	choose("type", "list")
	e.There(`#node-input [data-port][data-type="list"]`)
	e.Drag(e.Middle("#node-input header"), fivePlaces["input"])
	e.saved()
	addNode(e.Tab, "map")
	e.There(`[data-key="set:flow"] select`)
	choose("flow", child)
	e.There(port("map", "input.n", "in"))
	e.There(port("map", "double", "out"))
	e.There(`[data-key="set:over"] input:not([type=hidden])`)
	e.Eval(`document.querySelector('[data-key="set:over"] input:not([type=hidden])').focus()`)
	e.Keys("n")
	choose("on_item_error", "keep")
	e.saved()
	e.Drag(e.Middle("#node-map header"), fivePlaces["summarize"])
	e.saved()
	addNode(e.Tab, "output")
	e.There("#node-output [data-port]")
	e.Drag(e.Middle("#node-output header"), fivePlaces["output"])
	e.saved()
	e.wire("input", "value", "map", "input.n")
	e.wire("map", "double", "output", "value")
	e.Shot("journey-map")
	e.want("input map output | input.value>map.input.n map.double>output.value")
	if n := e.draft().Node("map"); fmt.Sprint(n.Config["over"]) != "[n]" || n.Config["flow"] != child {
		t.Errorf("the node is %v", n.Config)
	}

	e.d.client(e.d.key("--scope", "edit", "--scope", "run")).want(200, "POST", "/v1/flow/"+e.flow+"/publish", object{})
	drawn := e.d.client(e.d.key()).start(e.flow, object{"input": numbers(30)})
	e.Go(d.base() + "/flows/" + e.flow + "?run=" + drawn.ID) // the canvas counts the items and leads to the failed one
	e.Has("#node-map .result-items", "30 of 30")
	e.Shot("journey-map-canvas")
	e.Click("#node-map .result-items a")
	e.Until(`location.pathname === "/flows/` + child + `" && document.querySelector("#node-call[data-state=failed]") !== null`)

	e.Go(d.base() + "/flows/" + e.flow + "/node/map") // the page of a node, for browsers without scripts
	e.Until(`document.querySelector("h1").getBoundingClientRect().left > 0 && document.querySelector('[data-set="flow"] select').value !== ""`)
	c := d.client(d.key())
	r := c.await(c.start(d.publish(mapping(child, nil)), object{"list": numbers(30)}))
	e.Go(d.base() + "/runs/" + r.ID)
	e.Until(`document.querySelector(".children")?.innerText.includes("30 of 30 finished")`)
	e.Has(".child-items", "http_failed")
	e.Click(".strip i:nth-child(3)") // item 2: its steps appear in the timeline of the run
	e.There(".waterfall .inside")
	e.Has(".waterfall .current", "Item 2")
	e.Has("#step-name", "Item 2")
	e.Until(`document.querySelectorAll(".waterfall .tick").length === 1`)
	e.Shot("journey-map-run")
	e.Click(`.child-picks a[href*="items=failed"]`)
	e.Until(`document.querySelectorAll(".child-items tbody tr").length === 1`)
	failed := chrome.Value[string](e.Tab, `document.querySelector("#step .open-run").getAttribute("href")`)
	e.Click(".child-items form button") // run item 2 again: a run of its own, which changes nothing here
	e.Until(`document.querySelector(".lineage")?.innerText.includes("Rerun of") && !document.body.innerText.includes("Item 2 of")`)
	e.Until(fmt.Sprintf(`document.querySelector(".lineage a").getAttribute("href") === %q`, failed))
	e.Go(d.base() + "/runs/" + r.ID + "?of=each&items=failed")
	e.Until(`document.querySelector(".children .strip").getAttribute("aria-label") === "29 done, 1 failed"`)
	e.Type(`.children [name="q"]`, "no such text")
	e.Has(".child-foot", "No items match")
	up.set(func() { up.broken, up.calls = map[string]bool{}, map[string]int{} })
	e.Click(".child-retry button") // retry 1 failed
	e.Until(`document.querySelector(".lineage") !== null && document.querySelector(".children")?.innerText.includes("29 taken over")`)
	if n := up.total(); n != 1 {
		t.Errorf("a retry of one item made %d calls, wanted 1", n)
	}
	up.set(func() { up.broken["2"] = true })
	stopped := c.await(c.start(d.publish(mapping(child, object{"on_item_error": "fail", "concurrency": 1})), object{"list": numbers(10)}))
	e.Go(d.base() + "/runs/" + stopped.ID)
	e.Until(`document.querySelector(".children")?.innerText.includes("3 of 10 finished")`)
	e.Has(".waterfall .current", "Item 2") // what failed is open
	e.Click("#step .open-run")
	e.Until(`document.querySelector(".lineage")?.innerText.includes("Item 2 of “each” in a run of Map")`)
	e.Shot("journey-map-item")
}

// TestSubflow_upgrade_shows_changes raises the version of the flow that a node runs: the builder says what
// changes and which connections lose their port, and the node stays until it is confirmed.
func TestSubflow_upgrade_shows_changes(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	c := d.client(d.key("--scope", "edit", "--scope", "run", "--scope", "read"))
	child := func(inputs, edge, name string) object {
		nodes := []any{node("a", "input", object{"name": "a"}), node("out", "output", object{"name": name})}
		if inputs != "" {
			nodes = append(nodes, node("b", "input", object{"name": inputs}))
		}
		return object{"schema": "sluice.flow/v1", "name": "Child", "nodes": nodes, "edges": []any{object{"from": edge, "to": "out.value"}}}
	}
	apply := func(documents ...any) {
		t.Helper()
		c.want(200, "POST", "/v1/apply", object{"documents": documents, "publish": true, "allow_breaking": true})
	}
	apply(child("", "a.value", "echo"))
	apply(json.RawMessage(documentOf("Parent", []object{input("x"), node("sub", "subflow", object{"flow": "child", "version": 1}), output("y")}, "x.value > sub.input.a", "sub.echo > out_y.value")))
	apply(child("lang", "a.value", "text"))
	parent := c.want(200, "GET", "/v1/flow/parent", nil).object(t)["flow_id"].(string)
	if end := c.await(c.start("parent", object{"x": "hi"})); fmt.Sprint(end.Outputs) != "map[y:hi]" {
		t.Errorf("the pinned version gave %+v", end)
	}

	apply(json.RawMessage(documentOf("Follows", []object{input("x"), node("sub", "subflow", object{"flow": "child", "input.lang": "en"}), output("y")}, "x.value > sub.input.a", "sub.text > out_y.value")))
	broken := c.want(409, "POST", "/v1/apply", object{"documents": []any{child("lang", "a.value", "answer")}, "publish": true})
	if !strings.Contains(string(broken.body), `"slug":"follows"`) || !strings.Contains(string(broken.body), "sub.text > out_y.value") || strings.Contains(string(broken.body), `"slug":"parent"`) {
		t.Errorf("what breaks is %s", broken.body)
	}

	e := &drawing{d.signIn(t, ownerEmail, "/flows/"+parent), d, parent}
	e.Until(`document.querySelector("flow-canvas[ready]") !== null`)
	e.Click("#node-sub header")
	const version = `[data-key="set:version"]`
	e.Has(version, "Version 2 is newer.")
	e.Click("[data-upgrade-ask]")
	e.Has(version, "Version 2 of Child changes:")
	e.Has(version, `The input "lang" was added and is required`)
	e.Has(version, `The output "echo" was removed`)
	e.Has(version, "The port for the connection from sub.echo to out_y.value no longer exists")
	e.Shot("journey-upgrade")
	e.Click("[data-upgrade-version]")
	e.There(port("sub", "text", "out"))
	e.There(port("sub", "input.lang", "in"))
	e.saved()
	if n := e.draft().Node("sub"); fmt.Sprint(n.Config["version"]) != "2" {
		t.Errorf("the node is %v", n.Config)
	}
	e.chord("z", "Control")
	e.There(port("sub", "echo", "out"))

	renamed := child("lang", "a.value", "answer")
	renamed["slug"] = "kid" // the other flows name it by the slug that it had
	c.want(200, "PUT", "/v1/flow/child", renamed, "If-Match: "+c.want(200, "GET", "/v1/flow/child/document?version=draft", nil).header.Get("ETag"))
	e.Go(d.base() + "/flows/" + c.want(200, "GET", "/v1/flow/child", nil).object(t)["flow_id"].(string) + "/publish")
	e.Has("main", "Flows that run the live version")
	e.Has("main", "No key has called this flow") // only through another flow
	e.Has("main", "Loses the connection sub.text → out_y.value")
	e.Shot("journey-followers")
}

// TestDraw_rejects_cycle chooses a flow that runs the drawn one: the builder says so at once, and
// publishing is refused.
func TestDraw_rejects_cycle(t *testing.T) {
	t.Parallel()
	d := newDashboard(t)
	first := d.publish(documentOf("First", []object{input("word"), output("echo")}, "word.value > out_echo.value"))
	second := d.publish(documentOf("Second", []object{input("word"), node("sub", "subflow", object{"flow": first, "contract": echoContract}), output("echo")}, "word.value > sub.input.word", "sub.echo > out_echo.value"))
	e := &drawing{d.signIn(t, ownerEmail, "/flows/"+first), d, first}
	e.There("flow-canvas[ready]")
	addNode(e.Tab, "subflow")
	e.There(`[data-key="set:flow"] select`)
	if chrome.Value[bool](e.Tab, fmt.Sprintf(`[...document.querySelector('[data-key="set:flow"] select').options].some((o) => o.value === %q)`, first)) {
		t.Error("a flow is offered to itself")
	}
	e.setField(drawnField{"flow", "select", second})
	e.Until(`document.querySelector("#problems").textContent.includes("would run itself: First → Second → First")`)
	e.Shot("journey-cycle")
	c := d.client(d.key("--scope", "edit", "--scope", "run"))
	if r := c.want(422, "POST", "/v1/flow/"+first+"/publish", object{}); !strings.Contains(string(r.body), "run itself") {
		t.Errorf("publishing a cycle: %s", r.body)
	}
}

// echoContract is the stored contract of a flow that returns a word.
var echoContract = object{"inputs": []object{{"name": "word", "type": "text", "required": true}}, "outputs": []object{{"name": "echo", "type": "any"}}}
