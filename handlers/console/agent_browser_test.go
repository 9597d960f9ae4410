package console_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// agentShop is a shop and a model. The model plays turns, each a list of calls such as
// `refund {"amount": "9.90"}`, and then answers.
type agentShop struct {
	*webtest.Env
	id      string
	refunds atomic.Int64
	hold    atomic.Bool   // refunds wait until the test lets them go
	begun   chan struct{} // receives each refund that waits
	let     chan struct{}
}

// newAgentShop publishes an agent with a tool that reads and one that writes.
func newAgentShop(t *testing.T, turns [][]string) *agentShop {
	s := &agentShop{Env: webtest.Setup(t), let: make(chan struct{}), begun: make(chan struct{}, 10)}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/lost"): // the result of a write that was sent
			panic(http.ErrAbortHandler)
		case r.Method == http.MethodPost:
			s.refunds.Add(1)
			if s.hold.Load() {
				s.begun <- struct{}{}
				<-s.let
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id": "re_3QK9a1XbM", "status": "succeeded", "amount": 990}`)
		case strings.HasSuffix(r.URL.Path, "/nothing"):
			http.Error(w, "no such order", http.StatusNotFound)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"order": 48213, "charges": [{"id": "ch_3QK8vT2eZ", "amount": 1290}]}`)
		}
	}))
	t.Cleanup(shop.Close)
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		a := scripted.Answer{Input: 1200 + 900*r.Turn, Cached: 1100 * min(r.Turn, 1) * (r.Turn + 1) / 2, Output: 90}
		if r.Turn >= len(turns) {
			a.Text = "I refunded **$9.90** for the second shipping charge."
			return a
		}
		for i, call := range turns[r.Turn] {
			name, arguments, _ := strings.Cut(call, " ")
			a.Calls = append(a.Calls, scripted.Call{ID: fmt.Sprintf("c%d_%d", r.Turn, i), Name: name, Arguments: arguments})
		}
		return a
	}))
	t.Cleanup(model.Close)
	c := flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "fake", Provider: "openai_compatible", BaseURL: model.URL + "/v1"}
	if err := s.Store.SaveCredential(context.Background(), c, "sk-1"); err != nil {
		t.Fatal(err)
	}
	s.id = s.Flow(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Resolve a support case","nodes":[
	{"id":"ticket","kind":"input","label":"Ticket","position":{"x":0,"y":0},"config":{"name":"ticket"}},
	{"id":"customer","kind":"input","label":"Customer","position":{"x":0,"y":160},"config":{"name":"customer"}},
	{"id":"agent","kind":"agent","label":"Support agent","position":{"x":320,"y":0},"config":{"model":"fake/claude-sonnet-5","prompt":"{{ticket}}","max_turns":60,"max_calls":400,"repeat_limit":20}},
	{"id":"search","kind":"http_request","label":"Search orders","position":{"x":240,"y":360},"tool":{"name":"search_orders","description":"Finds orders of the customer."},"config":{"url":"%[1]s/{{customer}}/{{about}}"}},
	{"id":"refund","kind":"http_request","label":"Refund","position":{"x":480,"y":360},"tool":{"description":"Refunds a part of a charge.","approval":"never","params":{"amount":{"description":"Dollars","schema":{"type":"string"}},"reason":{"description":"One sentence","schema":{"type":"string"}}}},"config":{"method":"POST","url":"%[1]s/charges/{{charge}}/{{order}}","body":"{\"amount\": \"{{amount}}\", \"reason\": \"{{reason}}\"}"}},
	{"id":"reply","kind":"output","label":"Reply","position":{"x":720,"y":0},"config":{"name":"reply"}}],
	"edges":[{"from":"ticket.value","to":"agent.ticket"},{"from":"customer.value","to":"search.customer"},{"from":"customer.value","to":"refund.charge"},{"from":"search.tool","to":"agent.tools"},{"from":"refund.tool","to":"agent.tools"},{"from":"agent.text","to":"reply.value"}]}`, shop.URL))
	s.Publish(s.id)
	return s
}

// run runs the agent to its end.
func (s *agentShop) run() string {
	return string(s.Ended(start(s.Env, s.id, map[string]any{"ticket": "I was charged twice.", "customer": "ch_3QK8vT2eZ"})).ID)
}

// supportCase is what the agent does in the pictures.
var supportCase = [][]string{
	{`search_orders {"about": "dana.reyes@example.com"}`, `search_orders {"about": "48213"}`},
	{`search_orders {"about": "a"}`, `search_orders {"about": "b"}`, `search_orders {"about": "nothing"}`, `search_orders {"about": "c"}`},
	{`refund {"order": "48213", "amount": "12.90", "reason": "Charged twice for shipping"}`},
	{`refund {"order": "lost", "amount": "64.00", "reason": "Broken lamp"}`},
	{`search_orders {"about": "48213"}`, `refund {"amount": 3}`},
}

func TestAgentPage_shows_turns_and_calls(t *testing.T) {
	t.Parallel()
	s := newAgentShop(t, supportCase)
	run := s.run()
	p := s.Open(chrome.Start(t), flow.MemberEditor, "/runs/"+run)
	p.Has(".thread-head h2", "Support agent")
	p.Until(`[...document.querySelectorAll(".thread-head .pill")].map((a) => a.innerText.replace(/\s+/g, " ").trim()).join(" · ") === "All 15 · Turns 6 · Tools 9 · Errors 2"`)
	p.Until(`[...document.querySelectorAll(".facts > div")].slice(0, 3).map((d) => d.innerText.replace(/\s+/g, " ").trim()).join(" · ") === "Stopped Finished · Turns 6 of 60 · Tool calls 9 1 failed, 1 unknown"`)
	p.Has(`[id="row-agent.2.3"]`, "×4") // one of four equal calls failed
	p.Has(`[id="row-agent.2.3"] .brief`, "1 failed")
	p.Has(`[id="row-agent.4.1"] .tag`, "Unknown")
	p.Has(`[id="row-agent.6"]`, "Answer")
	p.Has(".step-list", "Other steps")
	shots(p, "agent-run", 1400)
	p.Until(noOverflow)

	p.Size(1440, 1400)
	p.Click(`[id="row-agent.3.1"] .row`)
	p.Has("#step-name", "refund")
	p.Has(".step-meta", "Turn 3, call 1")
	p.Has(".step-head", "Write")
	p.Has(".arguments", "12.90")
	p.Has(".step-card", "Customer › value") // where the charge comes from
	p.Has(".step-card", "re_3QK9a1XbM")
	p.Has(".call-key", run+":agent.3.1")
	shots(p, "agent-run-call", 1400)
	p.Until(noOverflow)
	p.Size(1440, 1400)
	p.Click(`.step-card .tabbar a[href*="tab=input"]`)
	p.Has(".step-card .values", "/charges/ch_3QK8vT2eZ/48213")
	p.Click(`.step-card .tabbar a[href*="tab=output"]`)
	p.Has(".arguments", "12.90")
	p.Click(`[id="row-agent.4.1"] .row`)
	p.Has(".call-unknown", "Outcome unknown.")
	p.Click(`[id="row-agent.5"] .row`)
	p.Has("#step-name", "Turn 5")
	p.Has(".turn-messages", "The outcome is unknown")
	p.Has(".turn-calls", "Not made") // its arguments were invalid
	shots(p, "agent-run-turn", 1400)
	p.Size(1440, 1400)
	p.Click(`.thread-head .pill:nth-child(4)`)
	p.Until(`document.querySelectorAll(".step-list .step[data-turn]").length === 2`)
}

// ended waits for the end of a run.
func (s *agentShop) ended(run, state string) {
	s.T.Helper()
	if got := s.Ended(flow.RunID(run)); string(got.State) != state {
		s.T.Fatalf("the run %s", got.State)
	}
}
