package agents

import (
	"reflect"
	"testing"

	"sluice/flow"
	"sluice/providers"
)

// TestTurnItems_read_what_was_recorded compares what is read of a recorded turn with what the turn had, with every kind of item.
func TestTurnItems_read_what_was_recorded(t *testing.T) {
	t.Parallel()
	want := []providers.Item{
		{Type: providers.ItemText, Role: "assistant", Text: "naïve \u2028 <b>\u0000"},
		{Type: providers.ItemText},
		{Type: providers.ItemCall, Call: &providers.ToolCall{ID: "call_1", Name: "look", Arguments: `{"value": 9007199254740993}`}},
		{Type: providers.ItemCall, Call: &providers.ToolCall{ID: "call_2", Name: "look"}},
		{Type: providers.ItemResult, Result: &providers.ToolResult{CallID: "call_1", Name: "look", Text: "no", Error: true}},
		{Type: providers.ItemPicture, Role: "user", Source: "https://example.com/a.png"},
	}
	recorded, err := flow.DecodeJSON(flow.EncodeJSON(map[string]any{"items": want}))
	if err != nil {
		t.Fatal(err)
	}
	outputs, _ := flow.AsMap(recorded)
	have, err := turnItems(outputs)
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("read %+v, %v, want %+v", have, err, want)
	}
	for _, odd := range []any{7.0, map[string]any{"type": 7.0}, map[string]any{"type": "call", "call": map[string]any{"id": "a", "name": "b", "arguments": 1.0}}} {
		if items, err := turnItems(map[string]any{"items": []any{odd}}); err == nil {
			t.Errorf("%v was read as %+v", odd, items)
		}
	}
}
