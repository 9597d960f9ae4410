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
	run := chrome.Value[string](p, `document.querySelector(".run-bar").dataset.run`)
	other := a.Open(chrome.Start(t), flow.MemberViewer, "/flows/"+a.id)
	other.Go(a.Http.URL + "/flows/" + a.id + "?run=" + run)
	other.Until(box + `?.startsWith("Turn 2 of 12 · Waiting for an answer: refund")`)
	other.Until(`document.querySelector("#node-agent [title='Cost: $0.0680 of $50']")?.textContent === "$0.0680"`)
	other.Size(375, 800)
	other.Shot("agent-canvas-asks-375-light")
	p.Until(`document.querySelector("#node-agent .result-agent").offsetHeight <= 34`) // what a node has room for
	p.Until(`document.querySelector("#flow-result .approval-card.open [value=approved]") !== null`)
	p.Eval(`document.querySelector("#flow-result .approval-card.open [value=approved]").click()`)
	p.Until(`document.querySelector("#node-agent").dataset.state === "succeeded" && document.querySelector("#node-agent .result-agent") === null`)
	p.Until(`document.querySelector("#node-agent .result-text").textContent.includes("It is done.")`)
}

// TestRunEvents_of_agents continues a stream in the middle: the dollars of earlier turns are part of the sum.
func TestRunEvents_of_agents(t *testing.T) {
	t.Parallel()
	a := newLiveAgent(t)
	b := a.As(flow.MemberEditor)
	run := starts(a.Env, b, a.id)
	send(t, a.let)
	send(t, a.turn)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.Base+"/flows/"+a.id+"/runs/"+run+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Last-Event-ID", "3")
	response, err := b.Client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	seen := ""
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		seen += lines.Text() + "\n"
		if !strings.Contains(lines.Text(), `"asks":["refund"]`) {
			continue
		}
		if !strings.Contains(lines.Text(), `"cost":"$0.0680","limit":"$50"`) || !strings.Contains(lines.Text(), `"turn":2`) {
			t.Errorf("continued with %s", lines.Text())
		}
		return
	}
	t.Errorf("the stream ended without the question: %s", seen)
}
