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
	r := providers.ChatRequest{System: "Be brief."}
	err := readHistory(&r, []any{
		said("system", "You are Bob."), said("user", "One"), said("assistant", "Two"),
		said("user", []any{map[string]any{"type": "text", "text": "Three"}, map[string]any{"type": "image_url"}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "system", r.System, "Be brief.\n\nYou are Bob.")
	same(t, "history", r.History, []providers.ChatTurn{{Role: "user", Text: "One"}, {Role: "assistant", Text: "Two"}, {Role: "user", Text: "Three\n(picture)"}})
	for want, list := range map[string][]any{
		`has the role "tool"`: {said("tool", "x")},
		"has no content":      {said("user", nil)},
		"Message 2":           {said("user", "x"), "y"},
		"the limit is 1000":   make([]any, maxMessages+1),
	} {
		if err := readHistory(&providers.ChatRequest{}, list); err == nil || flow.AsError(err).Code != flow.CodeInputInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
