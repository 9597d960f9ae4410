package providers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/flow/value"
)

// recursive returns a schema with a definition that has itself at n properties.
func recursive(t *testing.T, n int) *value.Object {
	t.Helper()
	var properties []string
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/node"}`, i))
	}
	v, _ := value.AsObject(decoded(t, `{"type":"object","properties":{"tree":{"$ref":"#/$defs/node"},"name":{"type":"string"}},"required":["tree"],
		"$defs":{"node":{"type":"object","description":"A node.","properties":{`+strings.Join(properties, ",")+`}}}}`))
	return v
}

// TestLowering_ends_recursive_schemas: a definition inside itself is cut, however many properties refer to it, and definitions that
// refer to each other have a bound together.
func TestLowering_ends_recursive_schemas(t *testing.T) {
	t.Parallel()
	got, _ := json.Marshal(geminiLowering.schema(recursive(t, 2)))
	want := `{"type":"object","properties":{"tree":{"type":"object","description":"A node.","properties":{"p0":{"type":"object","description":"A node."},"p1":{"type":"object","description":"A node."}}},"name":{"type":"string"}},"required":["tree"]}`
	if string(got) != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for name, schema := range map[string]string{
		"a definition":              string(value.Encode(recursive(t, 3))),
		"definitions by each other": doubling(40),
	} {
		root, _ := value.AsObject(decoded(t, schema))
		if got, _ := json.Marshal(geminiLowering.schema(root)); len(got) > 1<<20 {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

// TestTool_reads_whole_arguments: a call is made with all of what the model wrote or not at all.
func TestTool_reads_whole_arguments(t *testing.T) {
	t.Parallel()
	tool := Tool{Name: "pay", Parameters: decoded(t, `{"type":"object","properties":{"amount":{}}}`)}
	for arguments, want := range map[string]string{
		`{"amount":9223372036854775808}`:    `{"amount":9223372036854775808}`,
		`{"z":1e400,"amount":0.10,"a":1.0}`: `{"z":1e400,"amount":0.10,"a":1.0}`,
		"```json\n{\"amount\":1}\n```":      `{"amount":1}`,
		``:                                  `{}`,
		` null `:                            `{}`,
		`{"pay":{"amount":1}`:               `it is not JSON`,
		`{"amount":1} {"amount":2}`:         `it is not JSON`,
		`Then {"amount":1}`:                 `it is not JSON`,
		`{"amount":NaN}`:                    `it is not JSON`,
		`{"amount":1,"amount":2}`:           `/amount: this name appears twice in the same object`,
		`[{"amount":1}]`:                    `at the top: wanted object, got array`,
		`"{\"amount\":1}"`:                  `at the top: wanted object, got string`,
	} {
		got, wrong, err := tool.ReadArguments(t.Context(), arguments)
		if wrong == "" {
			wrong = string(value.Encode(got))
		}
		if err != nil || wrong != want {
			t.Errorf("%s: got %s, %v, want %s", arguments, wrong, err, want)
		}
	}
}

// TestTurn_takes_no_other_value_for_missing_arguments: what a server sends instead of a text or an object is refused as it is, because the
// tool would be called without what the model wanted.
func TestTurn_takes_no_other_value_for_missing_arguments(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		`[1,2]`: `[1,2]`, `true`: `true`, `false`: `false`, `0`: `0`, `5`: `5`, `{"a": [ ]}`: `{"a": [ ]}`, `"x"`: `x`,
		`null`: ``, ``: ``, `[]`: ``, `""`: ``,
	} {
		if got := argumentsText(value.Raw(sent)); got != want {
			t.Errorf("%s: got %q, want %q", sent, got, want)
		}
	}
}

// TestTexts_reads_all_shapes: a text is not lost because a server puts it in a list or in a part of its own.
func TestTexts_reads_all_shapes(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		`"a"`: "a", `["a ","b"]`: "a b", `[{"type":"text","text":"a "},{"type":"text","text":"b"}]`: "a b", `{"type":"text","text":"a"}`: "a",
		`null`: "", `7`: "", `[null,7,{"type":"thinking","thinking":[]}]`: "",
	} {
		var got texts
		if err := json.Unmarshal([]byte(sent), &got); string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", sent, got, err, want)
		}
	}
}
