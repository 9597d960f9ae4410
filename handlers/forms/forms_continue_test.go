package forms_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"sluice/e2e/chrome"
	"sluice/flow"
	"sluice/handlers/webtest"
	"sluice/providers/scripted"
)

// desk is a form of an agent that looks something up in its first turn, and then answers with the number of results it
// remembers.
func desk(t *testing.T, h *webtest.Env, input string) string {
	t.Helper()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "sent") }))
	model := httptest.NewServer(scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 0 {
			return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "lookup", Arguments: `{"id": "17"}`}}}
		}
		return scripted.Answer{Text: fmt.Sprintf("%d results, %d answers", len(r.Given), r.Turn)}
	}))
	t.Cleanup(shop.Close)
	t.Cleanup(model.Close)
	if err := h.Store.SaveCredential(t.Context(), flow.Credential{WorkspaceID: flow.DefaultWorkspace, Name: "fake", Provider: "openai_compatible", BaseURL: model.URL + "/v1"}, "sk-1"); err != nil {
		t.Fatal(err)
	}
	prompt, edge := `,"prompt":"{{ask}}"`, `{"from":"in.value","to":"agent.ask"}`
	if strings.Contains(input, "messages") {
		prompt, edge = "", `{"from":"in.value","to":"agent.messages"}`
	}
	return h.FormOf(fmt.Sprintf(`{"schema":"sluice.flow/v1","name":"Desk","nodes":[
		{"id":"in","kind":"input","config":%s},{"id":"agent","kind":"agent","config":{"model":"fake/m"%s}},
		{"id":"lookup","kind":"http_request","tool":{"description":"Finds an order."},"config":{"url":"%s/{{id}}"}},
		{"id":"out","kind":"output","config":{"name":"answer"}}],
		"edges":[%s,{"from":"lookup.tool","to":"agent.tools"},{"from":"agent.text","to":"out.value"}]}`,
		input, prompt, shop.URL, edge))
}

// TestForm_continues_a_conversation with the ticket of the result, which only its visitor has.
func TestForm_continues_a_conversation(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := desk(t, h, `{"name":"ask"}`)
	b := h.Anonymous()
	send := func(question, ticket string) string {
		t.Helper()
		return b.SendForm("/f/"+id, map[string]string{"in.ask": question, "continue": ticket}, nil).Is(http.StatusSeeOther).Header.Get("Location")
	}
	first := send("Where is 17?", "")
	b.Ended(first).Has("1 results, 1 answers", "</svg>Continue</a>", "?continue=")
	ticket, _ := url.PathUnescape(first[strings.LastIndexByte(first, '/')+1:])
	b.Get("/f/"+id+"?continue="+ticket).Is(http.StatusOK).Has("Continues your conversation", `name="continue" value="`+ticket+`"`)
	b.Ended(send("Thanks.", ticket)).Has("1 results, 2 answers")
	if run := lastRun(h, id); run.Continues == "" {
		t.Error("the run continues nothing")
	}
	for _, other := range []string{ticket + "0", "run_01jd0000000000000000000000", strings.Replace(ticket, ".", "x.", 1)} {
		b.Get("/f/" + id + "?continue=" + url.QueryEscape(other)).Is(http.StatusSeeOther)
		b.Ended(send("Whose?", other)).Has("1 results, 1 answers") // a conversation of its own
	}
	earlier := lastRun(h, id)
	if err := h.Store.EraseRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(id), earlier.ID, flow.CodeRunExpired); err != nil {
		t.Fatal(err)
	}
	plain := h.FormOf(`{"schema":"sluice.flow/v1","name":"Echo","nodes":[{"id":"i","kind":"input","config":{"name":"word"}},{"id":"o","kind":"output","config":{"name":"out"}}],"edges":[{"from":"i.value","to":"o.value"}]}`)
	result := b.SendForm("/f/"+plain, map[string]string{"in.word": "Hi"}, nil).Is(http.StatusSeeOther).Header.Get("Location")
	b.Ended(result).Lacks("?continue=")
}

// TestChat_remembers_calls: a chat page sends the ticket of the last reply, so the agent continues with its calls and results. Once
// these are erased, it continues with the texts.
func TestChat_remembers_calls(t *testing.T) {
	t.Parallel()
	h := webtest.Setup(t)
	id := desk(t, h, `{"name":"talk","type":"messages"}`)
	p := chrome.Start(t).Open(t, h.Http.URL+"/f/"+id)
	say := func(text, want string, turns int) {
		t.Helper()
		p.Type("#message", text)
		p.Click("[data-send]")
		p.Until(fmt.Sprintf(`document.querySelectorAll(".turn").length === %d && document.querySelector(".turn.assistant:last-child").textContent.includes(%q) && document.querySelector("[data-stop]").hidden`, turns, want))
	}
	say("Where is 17?", "1 results, 1 answers", 2)
	say("Thanks.", "1 results, 2 answers", 4)
	if run := lastRun(h, id); run.Continues == "" || !strings.Contains(string(flow.EncodeJSON(run.Inputs)), "Where is 17?") {
		t.Errorf("the run continues %q with %s", run.Continues, flow.EncodeJSON(run.Inputs))
	}
	if err := h.Store.EraseRun(t.Context(), flow.DefaultWorkspace, flow.FlowID(id), lastRun(h, id).ID, flow.CodeResultNotSaved); err != nil {
		t.Fatal(err)
	}
	say("Bye.", "0 results, 2 answers", 6)
}
