package editor_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// liveAgent is an agent with a tool that waits until the test lets it go on, and a model that does.
type liveAgent struct {
	*webtest.Env
	id   string
	let  chan struct{}
	turn chan struct{}
}

// send lets a side go on, unless the test has ended.
func send(t *testing.T, to chan<- struct{}) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	select {
	case to <- struct{}{}:
	case <-ctx.Done():
		t.Fatal("no run waits")
	}
}

// newLiveAgent makes a flow with an agent. Each of its turns costs $0.034.
func newLiveAgent(t *testing.T) *liveAgent {
	a := &liveAgent{Env: webtest.Setup(t), let: make(chan struct{}), turn: make(chan struct{})}
	shop := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-a.let }))
	t.Cleanup(shop.Close)
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		answer := scripted.Answer{Input: 10_000, Output: 267}
		switch r.Turn {
		case 0:
			answer.Calls = []scripted.Call{{ID: "1", Name: "find", Arguments: `{"about": "x"}`}}
		case 1:
			answer.Before, answer.Calls = func() { <-a.turn }, []scripted.Call{{ID: "2", Name: "refund", Arguments: `{"value": 5}`}}
		default:
			answer.Text = "It is done."
		}
		return answer
	}))
	t.Cleanup(model.Close)
	t.Cleanup(func() { close(a.let); close(a.turn) }) // before the servers close
	ctx := context.Background()
	c := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "fake", Provider: "openai_compatible", BaseURL: model.URL + "/v1"}
	if err := a.Store.SaveCredential(ctx, c, "sk-1"); err != nil {
		t.Fatal(err)
	}
	a.id = a.Flow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Support","nodes":[
	{"id":"agent","kind":"agent","label":"Support agent","position":{"x":0,"y":0},"config":{"model":"fake/m","prompt":"Help.","max_turns":12,"max_usd":50,"compact_at":4000,"max_tokens":100}},
	{"id":"find","kind":"http_request","label":"Find orders","position":{"x":-140,"y":320},"tool":{"description":"Finds orders."},"config":{"url":"%[1]s/{{about}}"}},
	{"id":"refund","kind":"expression","label":"Refund","position":{"x":140,"y":320},"tool":{"description":"Refunds.","effect":"write","approval":"always","params":{"value":{"description":"Dollars"}}},"config":{"expression":"value"}},
	{"id":"reply","kind":"output","label":"Reply","position":{"x":400,"y":0},"config":{"name":"reply"}}],
	"edges":[{"from":"find.tool","to":"agent.tools"},{"from":"refund.tool","to":"agent.tools"},{"from":"agent.text","to":"reply.value"}]}`, shop.URL))
	return a
}

// TestRunInTheBuilder_shows_what_agents_do: the turn, the tool that is being called, the question, the context and the
// dollars so far. A run moves nothing, and a second page that opens in the middle shows the same.
func TestRunInTheBuilder_shows_what_agents_do(t *testing.T) {
	t.Parallel()
	a := newLiveAgent(t)
	p := a.Open(chrome.Start(t), flow.MemberEditor, "/flows/"+a.id)
	p.Until(`document.querySelector("#canvas[ready]") !== null`)
	const heights = `JSON.stringify([...document.querySelectorAll("#canvas-nodes > article")].map((n) => n.offsetHeight))`
	before := chrome.Value[string](p, heights)
	p.Click("#run-button")
	const box = `document.querySelector("#node-agent .result-agent")?.innerText.replace(/\s+/g, " ")`
	p.Until(box + `?.startsWith("Turn 1 of 12 · Find orders")`)
	p.Until(`document.querySelector("#node-agent [title='Cost: $0.0340 of $50']")?.textContent === "$0.0340" && /^\d+ of 4.0K$/.test(document.querySelector("#node-agent meter + span").textContent)`)
	p.Until(`document.querySelector("#node-find").dataset.state === "running" && document.querySelector("#node-agent meter").value > 0`)
	p.Until(heights + " === " + fmt.Sprintf("%q", before))
	p.Size(1440, 900)
	p.Shot("agent-canvas-call-light")
	p.Theme("dark")
	p.Shot("agent-canvas-call-dark")
	p.Theme("light")
	send(t, a.let)
	p.Until(box + `?.startsWith("Turn 2 of 12 · Thinking")`)
	send(t, a.turn)
	p.Until(box + `?.startsWith("Turn 2 of 12 · Waiting for an answer: refund")`)
	p.Until(`document.querySelector("#node-agent [title='Cost: $0.0680 of $50']")?.textContent === "$0.0680"`)
	p.Until(asksCard)
	p.Until(heights + " === " + fmt.Sprintf("%q", before))
	p.Until(`document.querySelector("#node-refund header [data-took]").textContent !== "" && ((r) => r.scrollHeight <= r.clientHeight)(document.querySelector("#node-refund .result.wait"))`)
	p.Shot("agent-canvas-asks-light")
	p.Theme("dark")
	p.Shot("agent-canvas-asks-dark")
	p.Theme("light")
	run := chrome.Value[string](p, `document.querySelector(".run-bar").dataset.run`)
	other := a.Open(chrome.Start(t), flow.MemberViewer, "/flows/"+a.id)
	other.Go(a.Http.URL + "/flows/" + a.id + "?run=" + run)
	other.Until(box + `?.startsWith("Turn 2 of 12 · Waiting for an answer: refund")`)
	other.Until(`document.querySelector("#node-agent [title='Cost: $0.0680 of $50']")?.textContent === "$0.0680"`)
	other.Until(asksCard)
	other.Size(375, 800)
	other.Shot("agent-canvas-asks-375-light")
	other.Eval(`document.querySelector("[data-command=show-canvas]").click()`)
	other.Shot("agent-canvas-asks-375-canvas")
	p.Until(`document.querySelector("#node-agent .result-agent").offsetHeight <= 34`) // what a node has room for
	p.Until(`document.querySelector("#flow-result .approval-card.open [value=approved]") !== null`)
	p.Eval(`document.querySelector("#flow-result .approval-card.open [value=approved]").click()`)
	p.Until(`document.querySelector("#node-agent").dataset.state === "succeeded" && document.querySelector("#node-agent .result-agent") === null`)
	p.Until(`document.querySelector("#node-agent .result-text").textContent.includes("It is done.")`)
	for _, page := range []*chrome.Tab{p, other} { // the tool shows its call
		page.Until(`document.querySelector("#node-refund").dataset.state === "succeeded" && document.querySelector("#node-refund .result.wait") === null`)
		page.Until(`document.querySelector("[data-edge^='refund.tool']").dataset.state === "carried"`)
	}
}

// asksCard is that the tool with a call that waits for an answer says so: on its border, its badge, its edge and in words.
const asksCard = `document.querySelector("#node-refund").dataset.state === "waiting" && document.querySelector("#node-refund .node-state.wait") !== null &&
	document.querySelector("[data-edge^='refund.tool']").dataset.state === "waiting" && document.querySelector("#node-refund .result.wait b")?.textContent === "Waiting for an answer"`

// TestRunInTheBuilder_ends_the_question_of_a_tool when its call is not allowed: no call is made, so the tool has no state.
func TestRunInTheBuilder_ends_the_question_of_a_tool(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"rejected": `#flow-result .approval-card.open [value=rejected]`, "canceled": `.run-bar [data-command=stop]`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newLiveAgent(t)
			p := a.Open(chrome.Start(t), flow.MemberEditor, "/flows/"+a.id)
			p.Until(`document.querySelector("#canvas[ready]") !== null`)
			p.Click("#run-button")
			send(t, a.let)
			send(t, a.turn)
			p.Until(asksCard + fmt.Sprintf(" && document.querySelector(%q) !== null", answer))
			p.Eval(fmt.Sprintf("document.querySelector(%q).click()", answer))
			p.Until(`["succeeded", "canceled"].includes(document.querySelector("#node-agent").dataset.state)`)
			p.Until(`document.querySelector("#node-refund").dataset.state === undefined && document.querySelector("#node-refund .result") === null && document.querySelector("#node-refund [data-badge]").hidden`)
			p.Until(`document.querySelector("[data-edge^='refund.tool']").dataset.state === undefined`)
		})
	}
}

// TestRunEvents_of_agents continues a stream in the middle: the dollars of earlier turns are part of the sum, and a question that was
// sent before is still one, until it is answered.
func TestRunEvents_of_agents(t *testing.T) {
	t.Parallel()
	a := newLiveAgent(t)
	b := a.As(flow.MemberEditor)
	run := starts(a.Env, b, a.id)
	send(t, a.let)
	send(t, a.turn)
	// follow reads the stream after the event with an ID, until a line has a part. It returns that line, and the ID before it.
	follow := func(last, part string) (line, id string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.Base+"/flows/"+a.id+"/runs/"+run+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Last-Event-ID", last)
		response, err := b.Client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		seen := ""
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			seen += lines.Text() + "\n"
			if number, is := strings.CutPrefix(lines.Text(), "id: "); is {
				id = number
			}
			if strings.HasPrefix(lines.Text(), "data: ") && strings.Contains(lines.Text(), part) {
				return lines.Text(), id
			}
		}
		t.Fatalf("the stream ended without %s: %s", part, seen)
		return "", ""
	}
	const asks = `"asks":[{"tool":"refund","node":"refund","ms":`
	line, last := follow("3", asks)
	if !strings.Contains(line, `"cost":"$0.0680","limit":"$50"`) || !strings.Contains(line, `"turn":2`) {
		t.Errorf("continued with %s", line)
	}
	b.Post("/flows/"+a.id+"/runs/"+run+"/cancel", nil)
	if line, _ := follow(last, `"node":"agent","turn":`); strings.Contains(line, `"asks"`) || !strings.Contains(line, `"turn":2`) {
		t.Errorf("after the end of the question: %s", line)
	}
}
