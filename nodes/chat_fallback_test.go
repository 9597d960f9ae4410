package nodes

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/providers"
)

// moody is a provider whose models succeed or fail according to their names.
type moody struct {
	fakeProviders
	mu    sync.Mutex
	asked []string
}

func (m *moody) Chat(ctx context.Context, at providers.Endpoint, r providers.ChatRequest, emit func(string)) (*providers.ChatResult, error) {
	m.mu.Lock()
	m.asked = append(m.asked, at.Provider+"/"+r.Model+" "+at.Secret)
	m.mu.Unlock()
	failure := func(class providers.ErrorClass, retryable bool) error {
		return &providers.Error{Class: class, Message: "OpenAI says no.", Retryable: retryable}
	}
	switch r.Model {
	case "busy":
		return nil, failure(providers.ClassRateLimited, true)
	case "down":
		return nil, failure(providers.ClassUnavailable, true)
	case "slow":
		<-ctx.Done()
		return nil, ctx.Err()
	case "slow-after-a-word":
		<-ctx.Done()
		return &providers.ChatResult{}, ctx.Err()
	case "broken":
		return &providers.ChatResult{Usage: providers.Usage{InputTokens: 3}}, failure(providers.ClassUnavailable, false)
	case "cheeky": // retryable, but paid
		return &providers.ChatResult{Usage: providers.Usage{InputTokens: 3}}, failure(providers.ClassUnavailable, true)
	case "refused":
		return nil, failure(providers.ClassRejected, false)
	}
	return m.fakeProviders.Chat(ctx, at, r, emit)
}

func TestChatFallback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, model string
		fallback    []any
		retries     int
		asked       string // names of the models, in order
		code        flow.Code
	}{
		{"rate limited", "openai/busy", []any{"openai/fine"}, 0, "busy fine", ""},
		{"unavailable", "openai/down", []any{"openai/busy", "openai/fine"}, 0, "down busy fine", ""},
		{"after the retries of each", "openai/down", []any{"openai/busy", "openai/fine"}, 2, "down down busy busy fine", ""},
		{"a timeout", "openai/slow", []any{"openai/fine"}, 0, "slow fine", ""},
		{"until none is left", "openai/busy", []any{"openai/down"}, 0, "busy down", flow.CodeProviderUnavailable},
		{"not after an answer began", "openai/slow-after-a-word", []any{"openai/fine"}, 0, "slow-after-a-word", flow.CodeStepTimeout},
		{"not after an answer broke off", "openai/broken", []any{"openai/fine"}, 0, "broken", flow.CodeProviderUnavailable},
		{"not after tokens were paid", "openai/cheeky", []any{"openai/fine"}, 0, "cheeky", flow.CodeProviderUnavailable},
		{"not after a refusal", "openai/refused", []any{"openai/fine"}, 0, "refused", flow.CodeProviderRejected},
		{"not when it answers", "openai/fine", []any{"openai/other"}, 0, "fine", ""},
		{"not without a list", "openai/busy", nil, 0, "busy", flow.CodeProviderRateLimited},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			models := &moody{}
			u := ask(map[string]any{"model": c.model, "fallback": c.fallback})
			kinds := New(Deps{Providers: models})
			doc, inputs := u.document(kinds.Find("chat"))
			for i := range doc.Nodes {
				if doc.Nodes[i].Kind == "chat" {
					doc.Nodes[i].TimeoutS = 0.2
					if c.retries > 0 {
						doc.Nodes[i].Retry = &flow.Retry{Attempts: c.retries}
					}
				}
			}
			r := runDocument(t, kinds, doc, inputs)
			var names, tries []string
			for _, a := range models.asked {
				ref, _, _ := strings.Cut(a, " ")
				_, name, _ := strings.Cut(ref, "/")
				names = append(names, name)
			}
			if got := strings.Join(names, " "); got != c.asked {
				t.Fatalf("asked %q, want %q", got, c.asked)
			}
			for _, a := range r.Tries() {
				_, name, _ := strings.Cut(a.Model, "/")
				tries = append(tries, name)
			}
			if got := strings.Join(tries, " "); got != c.asked {
				t.Errorf("the attempts name %q", got)
			}
			if c.code != "" {
				if r.Error == nil || r.Error.Code != c.code || len(r.run.Models) > 0 {
					t.Errorf("ended with %v, models %v", r.Error, r.run.Models)
				}
				return
			}
			last := r.Tries()[len(r.Tries())-1]
			if r.State != flow.StepSucceeded || len(r.run.Models) != 1 || r.run.Models[0] != last.Model || last.InputTokens == 0 {
				t.Errorf("state %s, %v, models %v, last attempt %+v", r.State, r.Error, r.run.Models, last)
			}
			if first := r.Tries()[0]; len(tries) > 1 && (first.InputTokens > 0 || first.Unpriced || first.Error == nil) {
				t.Errorf("the first attempt is %+v", first)
			}
		})
	}
	t.Run("uses the credential of the other provider", func(t *testing.T) {
		t.Parallel()
		models, w := &moody{}, newFixture()
		w.credentials = memoryCredentials{"mine": {Provider: "openai"}}
		w.environment = map[string]flow.Access{"anthropic": {Provider: "anthropic", Secret: "secret-of-anthropic"}}
		u := ask(map[string]any{"model": "openai/busy", "credential": map[string]any{"credential": "mine"}, "fallback": []any{"openai/down", "anthropic/fine"}})
		if r := u.executeIn(t, w, Deps{Providers: models}); r.State != flow.StepSucceeded {
			t.Fatal(r.Error)
		}
		if got := fmt.Sprint(models.asked); got != "[openai/busy secret-of-mine openai/down secret-of-mine anthropic/fine secret-of-anthropic]" {
			t.Errorf("asked %s", got)
		}
	})
	t.Run("not when the run is canceled", func(t *testing.T) {
		t.Parallel()
		models, w, cancel := &moody{}, newFixture(), make(chan struct{})
		w.signals.Cancel = cancel
		time.AfterFunc(50*time.Millisecond, func() { close(cancel) })
		r := ask(map[string]any{"model": "openai/slow", "fallback": []any{"openai/fine"}}).executeIn(t, w, Deps{Providers: models})
		if r.run.State != flow.RunCanceled || len(models.asked) != 1 {
			t.Errorf("run %s, asked %v", r.run.State, models.asked)
		}
	})
	t.Run("checks the names and counts the prices of all", func(t *testing.T) {
		t.Parallel()
		kinds := New(fakes())
		n := &flow.Node{ID: "a", Kind: "chat", Config: map[string]any{"model": "openai/a", "prompt": "?", "fallback": []any{"openai/b", "c"}}}
		if p := kinds.Find("chat").Check(n); len(p) != 1 || p[0].Pointer != "/fallback/1" {
			t.Errorf("problems %+v", p)
		}
		n.Config["fallback"] = []any{"openai/b", "ollama/c", "openai/a"}
		d := &flow.Document{Nodes: []flow.Node{*n}}
		var models []string
		for _, c := range document.Charges(d, kinds) {
			if !c.Free {
				models = append(models, c.Model)
			}
		}
		same(t, "models", models, []string{"openai/a", "openai/b"})
	})
}
