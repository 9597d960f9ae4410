package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"sluice/e2e/chrome"
)

// newcomer is somebody who draws the first flows of their own, by mouse or by keyboard.
type newcomer interface {
	drawnBy
	press(selector string)        // a button, a link or a box
	fill(selector, text string)   // replaces the text of a field
	pick(selector, value string)  // an option of a list
	write(selector, code string)  // replaces the text of an editor of code
	run(values map[string]string) // the draft, with values of its inputs
}

type newcomerByMouse struct{ byMouse }

// add adds a node where the builder puts it.
func (m newcomerByMouse) add(kind string) {
	addNode(m.Tab, kind)
	m.There("#node-" + kind + " [data-port]")
	m.saved()
}

func (m newcomerByMouse) open(node string) {
	m.Click(`[data-command="fit"]`)
	m.Eval("window.looks = 0")
	m.Until(steady)
	m.Click("#node-" + node + " header")
	m.There(fmt.Sprintf("#inspector [data-node=%q]", node))
}

func (m newcomerByMouse) connect(from, to string) {
	m.Click(`[data-command="fit"]`)
	m.byMouse.connect(from, to)
	m.Until(fmt.Sprintf(`document.querySelector("flow-canvas").document().edges.some((x) => x.from === %q && x.to === %q)`, from, to))
	m.saved()
}

func (m newcomerByMouse) press(selector string)      { m.Click(selector) }
func (m newcomerByMouse) fill(selector, text string) { m.Type(selector, text) }

func (m newcomerByMouse) pick(selector, value string) {
	m.Until(fmt.Sprintf(`[...document.querySelector(%q)?.options ?? []].some((o) => o.value === %q)`, selector, value))
	m.Eval(fmt.Sprintf(`{ const s = document.querySelector(%q); s.focus(); s.value = %q; s.dispatchEvent(new Event("input", { bubbles: true })); s.dispatchEvent(new Event("change", { bubbles: true })); }`, selector, value))
}

func (m newcomerByMouse) write(selector, code string) {
	m.Click(selector + " :is(textarea:not(.ins-under), input:not([type=hidden], .ins-under), .cm-content)")
	m.There(selector + " .cm-editor.cm-focused")
	m.chord("a", "Control")
	m.Keys(kb.Delete)
	m.Keys(code)
}

func (m newcomerByMouse) run(values map[string]string) {
	m.saved()
	m.Click("#run-button")
	m.runWith(m.fill, values)
	m.Click("#run-form button[type=submit]")
}

type newcomerByKeyboard struct{ byKeyboard }

// reach moves the focus to an element with Tab, backward if it is before the focus.
func (k newcomerByKeyboard) reach(selector string) {
	k.d.t.Helper()
	k.There(selector)
	at := fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, selector)
	back := fmt.Sprintf(`(document.activeElement.compareDocumentPosition(document.querySelector(%q)) & Node.DOCUMENT_POSITION_PRECEDING) > 0`, selector)
	for range 3 * maxPresses {
		if chrome.Value[bool](k.Tab, at) {
			return
		}
		if chrome.Value[bool](k.Tab, back) {
			k.chord("\t", "Shift")
		} else {
			k.Keys("\t")
		}
	}
	k.Shot("failed-" + strings.ReplaceAll(k.d.t.Name(), "/", "-"))
	k.d.t.Fatalf("Tab does not lead to %s; the focus is on %s", selector, chrome.Value[string](k.Tab, `document.activeElement.outerHTML.slice(0, 300)`))
}

func (k newcomerByKeyboard) press(selector string) {
	k.reach(selector)
	if chrome.Value[bool](k.Tab, `document.activeElement.matches("[type=checkbox], [type=radio]")`) {
		k.Keys(" ")
	} else {
		k.enter()
	}
}

func (k newcomerByKeyboard) fill(selector, text string) {
	k.reach(selector)
	k.selectAll()
	k.Keys(text)
}

func (k newcomerByKeyboard) pick(selector, value string) {
	k.reach(selector)
	k.Until(fmt.Sprintf(`[...document.activeElement.options].some((o) => o.value === %q)`, value))
	key := kb.ArrowDown
	if chrome.Value[bool](k.Tab, fmt.Sprintf(`document.activeElement.selectedIndex > [...document.activeElement.options].findIndex((o) => o.value === %q)`, value)) {
		key = kb.ArrowUp
	}
	k.byKeyboard.press(key, fmt.Sprintf(`document.querySelector(%q)?.value === %q`, selector, value))
}

func (k newcomerByKeyboard) write(selector, code string) {
	k.reach(selector + " :is(textarea:not(.ins-under), input:not([type=hidden], .ins-under), .cm-content)")
	k.There(selector + " .cm-editor.cm-focused")
	k.selectAll()
	k.Keys(kb.Delete)
	k.Keys(code)
	k.Keys(kb.Escape) // closes the list of completions
}

func (k newcomerByKeyboard) run(values map[string]string) {
	k.saved()
	k.chord("\r", "Control")
	k.runWith(k.fill, values)
	k.chord("\r", "Control")
}

// runWith fills the form of a run.
func (e *drawing) runWith(fill func(selector, text string), values map[string]string) {
	e.There("#run-dialog[open] #run-form")
	for name, value := range values {
		fill(fmt.Sprintf(`#run-form [name="in.%s"]`, name), value)
	}
}

// untouchedNodes is a JavaScript list of nodes that overlap. Nothing moved them but the builder.
const untouchedNodes = `(() => {
	const c = document.querySelector("flow-canvas"), boxes = [...c.scene.boxes.keys()].map((id) => ({ id, ...c.scene.box(id) }));
	return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height).map((b) => a.id + " covers " + b.id));
})()`

// clear fails the test if the drawing has problems or nodes on top of each other.
func (e *drawing) isClear() {
	e.d.t.Helper()
	e.saved()
	e.Until(`document.getElementById("problem-count").textContent === ""`)
	if covered := chrome.Value[[]string](e.Tab, untouchedNodes); len(covered) > 0 {
		e.Shot("failed-covered-" + strings.ReplaceAll(e.d.t.Name(), "/", "-"))
		e.d.t.Errorf("%s", strings.Join(covered, ", "))
	}
}

// ownModels is a server with OpenAI's API and one model, which answers negative to a complaint.
func ownModels(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"fake-mini","object":"model"}]}`)
		return
	}
	var body struct{ Messages []struct{ Content any } }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, `{"error":{"message":"no messages"}}`, http.StatusBadRequest)
		return
	}
	text, mood := fmt.Sprint(body.Messages[len(body.Messages)-1].Content), "positive"
	if strings.Contains(text, "broke") {
		mood = "negative"
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", must1(json.Marshal(mood+": "+strings.TrimPrefix(text, "Sort: "))))
}

func TestNewcomer_draws_by_mouse(t *testing.T) {
	t.Parallel()
	drawAsNewcomer(t, func(e *drawing) newcomer { return newcomerByMouse{byMouse{e}} })
}

func TestNewcomer_draws_by_keyboard(t *testing.T) {
	t.Parallel()
	drawAsNewcomer(t, func(e *drawing) newcomer { return newcomerByKeyboard{byKeyboard{e}} })
}

// drawAsNewcomer draws flows of one's own, without Tidy: a model of one's own server whose answer
// takes one of two ways, with a webhook; the flow for each item of a list; an approval; and code.
func drawAsNewcomer(t *testing.T, way func(e *drawing) newcomer) {
	t.Helper()
	models := httptest.NewServer(http.HandlerFunc(ownModels))
	t.Cleanup(models.Close)
	hooks := newReceiver(t, nil)
	d := newDashboard(t)
	tab := d.signIn(t, ownerEmail, "/flows")
	begin := func(name string) (*drawing, newcomer) {
		t.Helper()
		tab.Size(1440, 900)
		e := d.begin(t, tab)
		e.Type("#flow-name", name)
		e.Keys("\r")
		e.saved()
		return e, way(e)
	}
	sorting := newcomerSorts(begin, models.URL+"/v1", hooks)
	newcomerLoops(begin, sorting)
	newcomerApproves(begin)
	newcomerCodes(begin)
}

type beginning = func(name string) (*drawing, newcomer)

// newcomerSorts draws a flow with a model of an own server, a condition, two outputs and a webhook, and publishes it.
func newcomerSorts(begin beginning, models string, hooks *receiver) (flowID string) {
	e, by := begin("Sort a review")
	e.d.t.Helper()
	by.add("input")
	by.open("input")
	by.fill("#set-name", "review")
	by.add("chat")
	by.open("chat")
	by.write(`[data-set="prompt"]`, "Sort: {{review}}")
	e.There(port("chat", "review", "in"))
	e.saved()

	// The server is connected from the list of models.
	by.press("#set-model")
	by.fill("#set-model", "lab")
	e.Until(`document.getElementById("connect-name-openai_compatible")?.value === "lab"`)
	by.press(".ins-own summary")
	by.fill("#connect-url-openai_compatible", models)
	by.press(`.ins-own form button`)
	e.Until(`document.activeElement?.id === "set-model"`)
	e.There(`[data-model="lab/fake-mini"]`)
	if _, mouse := by.(newcomerByMouse); mouse {
		e.Click(`[data-model="lab/fake-mini"]`)
	} else {
		by.(newcomerByKeyboard).byKeyboard.press(kb.ArrowDown, `document.querySelector('[data-model="lab/fake-mini"]')?.ariaSelected === "true"`)
		by.(newcomerByKeyboard).enter()
	}
	e.Until(`document.querySelector("flow-canvas").draft.nodes.get("chat").config.model === "lab/fake-mini"`)
	e.saved()
	by.connect("input.value", "chat.review")

	by.add("condition")
	by.connect("chat.text", "condition.value")
	by.open("condition")
	row := `[data-set="expression"] .cond-row `
	by.pick(row+`[aria-label$="comparison"]`, "contains")
	by.fill(row+".cond-value", "negative")
	e.Until(`document.querySelector("flow-canvas").draft.nodes.get("condition").config.expression === 'value.contains("negative")'`)
	e.saved()
	for i, name := range []string{"complaint", "praise"} {
		id := []string{"output", "output_2"}[i]
		by.add("output")
		e.There("#node-" + id + " [data-port]")
		e.saved()
		by.connect([]string{"condition.true", "condition.false"}[i], id+".value")
		by.open(id)
		by.fill("#set-name", name)
		e.saved()
	}
	by.add("webhook")
	by.open("webhook")
	by.write(`[data-set="url"]`, hooks.URL+"/sorted")
	e.saved()
	e.isClear()
	e.Shot("newcomer-sorts")

	by.run(map[string]string{"review": "The box was broken."})
	e.Has("#flow-result", "negative: The box was broken.")
	e.Until(`document.querySelector(".run-bar").dataset.state === "succeeded"`)
	e.Until(`document.querySelector("#node-output_2").dataset.state === "skipped"`)
	sent := hooks.await(e.d.t, "/sorted", 1)[0]
	if body := string(sent.body); !strings.Contains(body, `"complaint":"negative: The box was broken."`) {
		e.d.t.Errorf("the webhook got %s", body)
	}
	e.Shot("newcomer-result")
	by.press(`.result-next [data-command="publish"]`)
	e.There("#publish-dialog[open] form")
	by.press(`#publish-dialog form button:is([type=submit], :not([type]))`)
	e.Has("#flow-state", "v1 live")
	return e.flow
}

// newcomerLoops draws a map over a list.
func newcomerLoops(begin beginning, child string) {
	e, by := begin("Sort reviews")
	by.add("input")
	by.open("input")
	by.fill("#set-name", "reviews")
	by.pick("#set-type", "list")
	e.There(`#node-input [data-port][data-type="list"]`)
	by.add("map")
	by.open("map")
	by.pick("#set-flow", child)
	e.There(port("map", "input.review", "in"))
	by.connect("input.value", "map.input.review")
	by.add("output")
	by.connect("map.complaint", "output.value")
	by.open("output")
	by.fill("#set-name", "complaints")
	e.isClear()
	e.Shot("newcomer-loops")
	by.run(map[string]string{"reviews": `["It broke.", "Lovely."]`})
	e.Until(`document.querySelector(".run-bar").dataset.state === "succeeded"`)
	e.Has("#flow-result", "negative: It broke.")
	if got := chrome.Value[string](e.Tab, `document.querySelector("#flow-result .result-output").innerText`); strings.Contains(got, "Lovely") || !strings.Contains(got, "null") {
		e.d.t.Errorf("the result is %s", got)
	}
}

// newcomerApproves draws an approval and answers it where the flow is drawn.
func newcomerApproves(begin beginning) {
	e, by := begin("Ask first")
	by.add("input")
	by.open("input")
	by.fill("#set-name", "draft")
	by.add("approval")
	by.open("approval")
	by.fill(`[data-set="values"] [data-row]:first-child input[name^="text."]`, "letter")
	e.There(port("approval", "letter", "in"))
	e.saved()
	by.connect("input.value", "approval.letter")
	by.add("output")
	by.connect("approval.letter", "output.value")
	by.open("output")
	by.fill("#set-name", "sent")
	e.isClear()
	by.run(map[string]string{"draft": "Dear Sam"})
	e.There("#flow-result .approval-card.open")
	e.Has("#flow-result .approval-card", "Dear Sam")
	e.Has("#node-approval", "Waiting")
	e.Shot("newcomer-approves")
	by.press(`.approval-card [value="approved"]`)
	e.Until(`document.querySelector(".run-bar").dataset.state === "succeeded"`)
	e.Has("#flow-result .result-output", "Dear Sam")
}

// newcomerCodes draws code and tries it with a value of the last run.
func newcomerCodes(begin beginning) {
	e, by := begin("Count words")
	by.add("input")
	by.open("input")
	by.fill("#set-name", "text")
	by.add("code")
	by.connect("input.value", "code.value")
	by.add("output")
	by.connect("code.result", "output.value")
	by.open("output")
	by.fill("#set-name", "words")
	by.open("code")
	by.write(`[data-set="code"]`, "export default ({ value }) => value.split(' ').length;")
	e.saved()
	e.isClear()
	by.run(map[string]string{"text": "three short words"})
	e.Until(`document.querySelector(".run-bar").dataset.state === "succeeded"`)
	e.Has("#flow-result .result-output", "3")
	by.open("code")
	by.press("[data-try]")
	e.Has("[data-tried]", "With the values of the last run")
	e.Has("[data-tried]", "3")
	e.Shot("newcomer-codes")
}
