package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/providers/scripted"
)

// agentWires are the models of a server on each wire of agents, with the end of the path of their requests.
var agentWires = []struct{ model, path string }{
	{"openai/gpt-5-nano", "/responses"}, {"anthropic/claude-haiku-4-5", "/v1/messages"}, {"fake/m", "/chat/completions"},
}

// wireServer returns a server whose models on all wires are one scripted model.
func wireServer(t *testing.T, model *scripted.Server) *server {
	t.Helper()
	at := httptest.NewServer(model)
	t.Cleanup(at.Close)
	s := newServer(t, "OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL="+at.URL+"/v1", "ANTHROPIC_API_KEY=sk-test", "ANTHROPIC_BASE_URL="+at.URL+"/v1")
	if r := s.commandWith("sk-test", "credential", "add", "--name", "fake", "--provider", "openai_compatible", "--base-url", at.URL+"/v1"); r.code != 0 {
		t.Fatal(r.errs)
	}
	s.must("price", "set", "fake/m", "--input", "0.05", "--output", "0.4")
	return s
}

// publishStarter publishes a template of an agent with a model.
func publishStarter(t *testing.T, s *server, name, model string) string {
	t.Helper()
	data, err := os.ReadFile("../cmd/sluice/starters/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, n := range doc["nodes"].([]any) {
		if n := n.(object); n["kind"] == "agent" {
			n["config"].(object)["model"] = model
		}
	}
	doc["name"] = name + " with " + model
	changed, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return s.publish(changed)
}

// pagesSite is a site with a page that links to another. hits counts its requests.
func pagesSite(t *testing.T, hits *atomic.Int64) *httptest.Server {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>Page</title><main><p>The bridge at "+r.URL.Path+" opened in 1932.</p><a href=\"/more\">More</a></main>")
	}))
	t.Cleanup(site.Close)
	return site
}

// TestStarters_of_agents_run_on_all_wires: support with a refund that a person allows, and research.
func TestStarters_of_agents_run_on_all_wires(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	site := pagesSite(t, &hits)
	model := scripted.New(func(r *scripted.Request) scripted.Answer {
		research := strings.Contains(r.User, "Begin with these pages")
		switch {
		case r.Turn == 0 && research:
			return scripted.Answer{Reasoning: "I read.", Calls: []scripted.Call{{ID: "c1", Name: "read_page", Arguments: fmt.Sprintf(`{"url": %q}`, site.URL+"/bridge")}, {ID: "c2", Name: "read_page", Arguments: fmt.Sprintf(`{"url": %q}`, site.URL+"/invented")}}}
		case r.Turn == 0:
			return scripted.Answer{Reasoning: "I look.", Calls: []scripted.Call{{ID: "c1", Name: "find_order", Arguments: `{"number": "1017"}`}}}
		case r.Turn == 1 && !research:
			return scripted.Answer{Text: "One moment.", Calls: []scripted.Call{{ID: "c2", Name: "refund", Arguments: `{"number": "1017", "amount": 12.5}`}}}
		}
		return scripted.Answer{Text: strings.Join([]string{"I found:", r.Given["c1"], r.Given["c2"]}, "\n")}
	})
	s := wireServer(t, model)
	c, desk := s.client(s.key()), s.client(s.key("--scope", "approve", "--name", "Desk"))
	for _, wire := range agentWires {
		before := len(model.Requests())
		research := c.succeed(publishStarter(t, s, "research-within-a-budget", wire.model), object{"question": "When did it open?", "pages": site.URL + "/bridge"})
		answer := fmt.Sprint(research.Outputs["answer"])
		if !strings.Contains(answer, "opened in 1932") || strings.Contains(answer, "The bridge at /invented") || research.Outputs["finish"] != "stop" {
			t.Errorf("%s: research gave %v", wire.model, research.Outputs)
		}
		r := c.start(publishStarter(t, s, "support-with-orders", wire.model), object{"question": "Refund 12.50 of order 1017.", "customer": "c-1"})
		asked(t, s, c, r, "agent.2.1.ask")
		desk.want(200, "POST", r.path()+"/approvals/agent.2.1.ask", object{"decision": "approved"})
		if end := c.await(r); end.Status != "succeeded" || !strings.Contains(fmt.Sprint(end.Outputs["answer"]), "Tuesday") || !strings.Contains(fmt.Sprint(end.Outputs["answer"]), `"refunded":12.5`) {
			t.Errorf("%s: support is %s: %v %v", wire.model, end.Status, end.Outputs, end.Error)
		}
		for _, request := range model.Requests()[before:] {
			if !strings.HasSuffix(request.Path, wire.path) {
				t.Errorf("%s asked %s, want %s", wire.model, request.Path, wire.path)
			}
			if request.Turn > 0 && wire.model != "fake/m" && len(request.Reasoning) == 0 {
				t.Errorf("%s did not send the reasoning back", wire.model)
			}
		}
	}
	if hits.Load() != int64(len(agentWires)) {
		t.Errorf("the site got %d requests, want one per agent: an invented address must not be opened", hits.Load())
	}
}

// TestStarterOfResearch_keeps_its_limit on all wires: it answers with what it has before it would spend more.
func TestStarterOfResearch_keeps_its_limit(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	site := pagesSite(t, &hits)
	model := scripted.New(func(r *scripted.Request) scripted.Answer {
		a := scripted.Answer{Input: 20_000, Output: 10}
		if choice, _ := json.Marshal(r.Body["tool_choice"]); strings.Contains(string(choice), "none") {
			a.Text = "This is what I have."
			return a
		}
		a.Calls = []scripted.Call{{ID: fmt.Sprint("c", r.Turn), Name: "read_page", Arguments: fmt.Sprintf(`{"url": %q}`, site.URL+fmt.Sprint("/", r.Turn))}}
		return a
	})
	s := wireServer(t, model)
	for _, wire := range agentWires {
		s.must("price", "set", wire.model, "--input", "2", "--output", "1") // 0.04 USD a turn
	}
	c := s.client(s.key())
	for _, wire := range agentWires {
		var pages []string
		for i := range 12 {
			pages = append(pages, site.URL+fmt.Sprint("/", i))
		}
		r := c.succeed(publishStarter(t, s, "research-within-a-budget", wire.model), object{"question": "When?", "pages": strings.Join(pages, "\n")})
		usage, _ := r.Outputs["usage"].(object)
		if usd := fmt.Sprint(usage["usd"]); r.Outputs["finish"] != "limit" || r.Outputs["answer"] != "This is what I have." || usd != "0.16004" {
			t.Errorf("%s: %v", wire.model, r.Outputs)
		}
	}
}

// TestTutorialAgent_works_as_written follows the page with a model and a site of the test.
func TestTutorialAgent_works_as_written(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	site := pagesSite(t, &hits)
	s := wireServer(t, scripted.New(func(r *scripted.Request) scripted.Answer {
		if r.Turn == 0 {
			return scripted.Answer{Calls: []scripted.Call{{ID: "c1", Name: "read_page", Arguments: fmt.Sprintf(`{"url": %q}`, site.URL+"/")}}}
		}
		return scripted.Answer{Text: "The page says: " + r.Given["c1"]}
	}))
	_, out := follow(t, s, "tutorial-agent", "openai/gpt-5-nano", "fake/m", "https://example.com/", site.URL+"/")
	for _, want := range []string{"opened in 1932", "\nstop\n", "agent.1 ", "agent.1.1 ", "agent.2 "} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in %s", want, out)
		}
	}
	if hits.Load() != 1 {
		t.Errorf("the site got %d requests", hits.Load())
	}
}

// repositoryHost is an MCP server with the issues of a repository. A comment is written only by comment_on_issue.
func repositoryHost(t *testing.T, comments *atomic.Int64) *httptest.Server {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "repositories", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "search_issues", Description: "Searches the issues of a repository.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			Repository string `json:"repository"`
			Query      string `json:"query"`
		}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: in.Repository + "#41 Sign-in fails behind a proxy (" + in.Query + ")"}}}, nil, nil
		})
	sdk.AddTool(server, &sdk.Tool{Name: "comment_on_issue", Description: "Adds a comment to an issue."},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			Number int    `json:"number"`
			Text   string `json:"text"`
		}) (*sdk.CallToolResult, any, error) {
			comments.Add(1)
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "Added."}}}, nil, nil
		})
	at := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	t.Cleanup(at.Close)
	return at
}

// TestStarterOfRepository_runs_from_a_fresh_install: make a flow of the template, add the server, choose tools, publish, run; on all wires. A
// comment, after content from outside, waits for a person.
func TestStarterOfRepository_runs_from_a_fresh_install(t *testing.T) {
	t.Parallel()
	var comments atomic.Int64
	host := repositoryHost(t, &comments)
	model := scripted.New(func(r *scripted.Request) scripted.Answer {
		switch r.Turn {
		case 0:
			return scripted.Answer{Reasoning: "I search.", Calls: []scripted.Call{{ID: "c1", Name: "search_issues", Arguments: `{"repository": "acme/shop", "query": "sign-in"}`}}}
		case 1:
			return scripted.Answer{Calls: []scripted.Call{{ID: "c2", Name: "comment_on_issue", Arguments: `{"number": 41, "text": "Seen."}`}}}
		}
		return scripted.Answer{Text: "I found: " + r.Given["c1"] + " and then: " + r.Given["c2"]}
	})
	d := &dashboard{server: wireServer(t, model)}
	d.person(ownerEmail, "owner")
	cookies := d.cookies()
	c, desk := d.client(d.key("--scope", "run,read,edit,manage,admin")), d.client(d.key("--scope", "approve", "--name", "Desk"))
	made := d.client("").want(303, "POST", "/flows", []byte(url.Values{"template": {"answer-about-a-repository"}}.Encode()), "Cookie: "+cookies, "Content-Type: application/x-www-form-urlencoded")
	id := path.Base(made.header.Get("Location"))
	if r := c.do("POST", "/v1/flow/"+id+"/publish", object{}); r.status != 422 || !strings.Contains(string(r.body), "choose at least one tool") {
		t.Errorf("without tools: %d %s", r.status, r.body)
	}
	if r := d.commandWith("", "credential", "add", "--name", "repository-host", "--provider", "mcp", "--base-url", host.URL); r.code != 0 {
		t.Fatal(r.errs)
	}
	checked := c.want(200, "POST", "/v1/credentials/repository-host/tools/check", object{}).object(t)["tools"].([]any)
	before := int64(0)
	for _, wire := range agentWires {
		doc := c.want(200, "GET", "/v1/flow/"+id+"/document?version=draft", nil).object(t)
		for _, n := range doc["nodes"].([]any) {
			switch config := n.(object)["config"].(object); n.(object)["kind"] {
			case "agent":
				config["model"] = wire.model
			case "mcp":
				config["tools"] = storedTools(checked)
			}
		}
		c.replaceDraft(id, doc)
		c.want(200, "POST", "/v1/flow/"+id+"/publish", object{})
		r := c.start(id, object{"question": "Which open issues are about sign-in?", "repository": "acme/shop"})
		asked(t, d.server, desk, r, "agent.2.1.ask")
		if comments.Load() != before {
			t.Errorf("%s commented without a person", wire.model)
		}
		desk.want(200, "POST", r.path()+"/approvals/agent.2.1.ask", object{"decision": "approved"})
		before++
		if end := c.await(r); end.Status != "succeeded" || !strings.Contains(fmt.Sprint(end.Outputs["answer"]), "acme/shop#41 Sign-in fails behind a proxy (sign-in)") || !strings.Contains(fmt.Sprint(end.Outputs["answer"]), "Added.") || comments.Load() != before {
			t.Errorf("%s: the run is %s: %v %v, %d comments", wire.model, end.Status, end.Outputs, end.Error, comments.Load())
		}
	}
}
