package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
	"sluice/providers"
)

func TestChatMessages(t *testing.T) {
	t.Parallel()
	said := func(role string, content any) any { return map[string]any{"role": role, "content": content} }
	text := func(s string) any { return map[string]any{"type": "text", "text": s} }
	image := func(v any) any { return map[string]any{"type": "image_url", "image_url": map[string]any{"url": v}} }
	const png = "data:image/png;base64,iVBORw0KGgo="
	list := []any{
		said("system", "You are Bob."), said("user", "One"), said("assistant", []any{text("Two"), image(png)}),
		said("user", []any{text("Three"), image(png), text("or"), image("https://example.com/4.png")}),
	}
	got := &calls{}
	u := ask(map[string]any{"model": "openai/gpt-x", "system": "Be brief.", "prompt": "Five"})
	u.ports = map[string]any{"messages": list}
	out := u.succeeds(t, Deps{Providers: fakeProviders{got}})
	r := got.requests[0].(providers.ChatRequest)
	same(t, "system", r.System, "Be brief.\n\nYou are Bob.")
	sent := ""
	for _, turn := range r.History {
		sent += turn.Role + ":"
		for _, p := range turn.Parts {
			if sent += " " + p.Text; p.Image != nil {
				sent += p.Image.MIME + p.Image.URL
			}
		}
		sent += "\n"
	}
	same(t, "history", sent, "user: One\nassistant: Two (image)\nuser: Three image/png or https://example.com/4.png\n")
	same(t, "conversation", out["messages"], append(list, said("user", "Five"), said("assistant", "You said: Five")))

	t.Run("answers the last message without a prompt", func(t *testing.T) {
		got, u := &calls{}, ask(map[string]any{"model": "openai/gpt-x"})
		u.ports = map[string]any{"messages": []any{said("user", "One")}, "prompt": ""}
		out := u.succeeds(t, Deps{Providers: fakeProviders{got}})
		same(t, "conversation", out["messages"], []any{said("user", "One"), said("assistant", "You said: ")})
		u.ports["messages"] = []any{said("user", "One"), said("assistant", "Two")}
		has(t, u.fails(t, fakes(), flow.CodeInputInvalid).Message, "does not end with a message of the user")
	})
	t.Run("leaves out a message of the assistant without content", func(t *testing.T) {
		got, u := &calls{}, ask(map[string]any{"model": "openai/gpt-x"})
		calling := map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": "call_1"}}}
		u.ports = map[string]any{"prompt": ""}
		u.ports["messages"] = []any{said("user", "One"), calling, said("tool", "of an agent"), map[string]any{"role": "assistant"}, said("user", "Two")}
		u.succeeds(t, Deps{Providers: fakeProviders{got}})
		if history := got.requests[0].(providers.ChatRequest).History; len(history) != 2 || history[1].Parts[0].Text != "Two" {
			t.Errorf("sent %+v", history)
		}
	})
	t.Run("keeps the images of the prompt", func(t *testing.T) {
		u := ask(map[string]any{"model": "openai/gpt-x", "images": []any{png}})
		same(t, "conversation", u.succeeds(t, fakes())["messages"].([]any)[0], said("user", []any{text("Hello there"), image(png)}))
	})
	for want, list := range map[string][]any{
		`has the role "robot"`: {said("robot", "x")},
		"has no content":       {said("user", nil)},
		"Message 2":            {said("user", "x"), "y"},
		"the limit is 1000":    make([]any, flow.MaxMessages+1),
	} {
		if _, _, err := readMessages(list); err == nil || flow.AsError(err).Code != flow.CodeInputInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
