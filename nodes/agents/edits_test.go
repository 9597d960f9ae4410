package agents_test

import (
	"errors"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/nodes/agents"
)

func TestEdit_checks_the_new_arguments(t *testing.T) {
	t.Parallel()
	turn := map[string]any{"items": []any{
		map[string]any{"type": "call", "call": map[string]any{"id": "a", "name": "other", "arguments": "{}"}},
		map[string]any{"type": "call", "call": map[string]any{"id": "b", "name": "refund", "arguments": `{"amount": 12.9}`}},
	}}
	schema := value.FromMap(map[string]any{
		"type": "object", "additionalProperties": false, "required": []any{"amount"}, "properties": map[string]any{"amount": map[string]any{"type": "number"}},
	})
	for _, tt := range []struct {
		name      string
		number    int
		arguments map[string]any
		code      flow.Code
	}{
		{"valid", 2, map[string]any{"amount": 9.9}, ""},
		{"of another tool", 1, map[string]any{"amount": 9.9}, flow.CodeInputInvalid},
		{"of no call", 3, map[string]any{"amount": 9.9}, flow.CodeInputInvalid},
		{"of another type", 2, map[string]any{"amount": "much"}, flow.CodeInputInvalid},
		{"missing", 2, map[string]any{}, flow.CodeInputInvalid},
		{"a bound value", 2, map[string]any{"amount": 9.9, "charge": "ch_1"}, flow.CodeInputInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outputs, err := agents.Edit(flow.CallEdit{Outputs: turn, Number: tt.number, Tool: &flow.Node{ID: "refund"}, Schema: schema, Arguments: value.FromMap(tt.arguments)})
			if tt.code != "" {
				if !errors.Is(err, &flow.Error{Code: tt.code}) {
					t.Fatalf("error %v, want %s", err, tt.code)
				}
				return
			}
			if amount, ok := flow.AsObject(outputs["arguments"]); err != nil || !ok || flow.Text(amount.Get("amount")) != "9.9" {
				t.Fatalf("outputs %v, error %v", outputs, err)
			}
		})
	}
}
