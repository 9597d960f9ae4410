package scripted_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"sluice/providers"
	"sluice/providers/scripted"
)

type doer struct{ *http.Client }

func (d doer) HTTPClient(bool) *http.Client { return d.Client }

// TestServer_plays_all_wires plays one script on every wire through package providers, streamed
// and not.
func TestServer_plays_all_wires(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "azure", "xai", "groq", "deepseek", "gemini", "ollama", "openai_compatible", "anthropic"} {
		for _, stream := range []bool{true, false} {
			t.Run(provider, func(t *testing.T) {
				t.Parallel()
				fake := scripted.Play(scripted.Answer{Reasoning: "secret thought", Text: "Let me look – äöü.", Calls: []scripted.Call{{"c1", "weather", `{"city":"Århus"}`}, {"c2", "now", ""}}},
					scripted.Answer{Text: "Snow.", Input: 20, Output: 2})
				server := httptest.NewServer(fake)
				defer server.Close()
				at := providers.Endpoint{Provider: provider, BaseURL: server.URL + "/v1", Secret: "k", Trusted: true}
				client := providers.NewClient(doer{server.Client()})
				req := providers.TurnRequest{ChatRequest: providers.ChatRequest{Model: "m", Prompt: "Weather?", Key: "run:1"}, Tools: []providers.Tool{{Name: "weather"}, {Name: "now"}}}
				if !stream {
					req.Extra = map[string]any{"stream": false}
				}
				first, err := client.Turn(context.Background(), at, req, nil)
				if err != nil {
					t.Fatal(err)
				}
				if calls := first.Calls(); first.Stop != "calls" || len(calls) != 2 || calls[0].Arguments != `{"city":"Århus"}` || first.Text != "Let me look – äöü." {
					t.Fatalf("got %+v", first)
				}
				req.Items = first.Items
				for _, c := range first.Calls() {
					req.Items = append(req.Items, providers.Item{Type: providers.ItemResult, Result: &providers.ToolResult{CallID: c.ID, Name: c.Name, Text: "of " + c.Name}})
				}
				last, err := client.Turn(context.Background(), at, req, nil)
				if err != nil || last.Text != "Snow." || last.Stop != "stop" || last.Usage.InputTokens != 20 {
					t.Fatalf("got %+v, %v", last, err)
				}
				asked := fake.Requests()
				again := asked[len(asked)-1]
				if again.Turn != 1 || again.User != "Weather?" || !reflect.DeepEqual(again.Given, map[string]string{"c1": "of weather", "c2": "of now"}) || !reflect.DeepEqual(again.Reasoning, []string{"secret thought"}) ||
					!reflect.DeepEqual(again.Tools, []string{"weather", "now"}) || len(again.Calls) != 2 || again.Calls[1].Arguments != "{}" || again.Key != "run:1" {
					t.Errorf("sent %+v", again)
				}
			})
		}
	}
}

// TestServer_fails_as_told breaks the connection and refuses.
func TestServer_fails_as_told(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"openai", "groq", "anthropic"} {
		for want, a := range map[string]scripted.Answer{"broke off": {Text: strings.Repeat("A long text. ", 9), Cut: true}, "no such thing": {Status: 400, Text: "no such thing"}, "cut off after 3 tokens": {Calls: []scripted.Call{{"c", "now", `{"a":`}}, Stop: "length"}} {
			server := httptest.NewServer(scripted.Play(a))
			at := providers.Endpoint{Provider: provider, BaseURL: server.URL + "/v1", Trusted: true}
			_, err := providers.NewClient(doer{server.Client()}).Turn(context.Background(), at, providers.TurnRequest{ChatRequest: providers.ChatRequest{Model: "m", Prompt: "?"}, Tools: []providers.Tool{{Name: "now"}}}, nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, wanted %q", provider, err, want)
			}
			server.Close()
		}
	}
}
