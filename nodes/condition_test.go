package nodes

import (
	"strings"
	"testing"

	"sluice/flow"
)

func TestCondition(t *testing.T) {
	t.Parallel()
	t.Run("takes one branch", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			value any
			want  string
		}{
			{number("11"), `{"true":11}`},
			{number("10.0"), `{"false":10.0}`},
		} {
			u := use{kind: "condition", config: map[string]any{"expression": "value > 10"}, ports: map[string]any{"value": c.value}}
			same(t, "outputs", flow.EncodeJSON(u.succeeds(t, Deps{})), []byte(c.want))
		}
	})
	t.Run("fails on a value that does not fit", func(t *testing.T) {
		t.Parallel()
		u := use{kind: "condition", config: map[string]any{"expression": "value > 10"}, ports: map[string]any{"value": "11"}}
		has(t, u.fails(t, Deps{}, flow.CodeExpressionFailed).Message, "text")
	})
	t.Run("rejects invalid expression with its column", func(t *testing.T) {
		t.Parallel()
		for source, want := range map[string]string{
			"":            "is required",
			"value > ":    "at column 9",
			"vlue > 10":   "at column 1",
			"size(value)": "must give true or false",
		} {
			u := use{kind: "condition", config: map[string]any{"expression": source}, ports: map[string]any{"value": "x"}}
			problems := u.problems(t)
			if len(problems) != 1 || problems[0].Pointer != "/nodes/0/config/expression" || !strings.Contains(problems[0].Detail, want) {
				t.Errorf("%q: got %v", source, problems)
			}
		}
	})
}
