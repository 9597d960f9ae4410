package expression

import (
	"os"
	"testing"

	"sluice/flow"
)

// TestCompile_accepts_the_rows_of_the_editor evaluates the expressions that the editor writes for
// conditions. The script that writes and reads them has the same vectors.
func TestCompile_accepts_the_rows_of_the_editor(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../testdata/conditions.json")
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := flow.DecodeJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range decoded.([]any) {
		vector, _ := flow.AsMap(item)
		text := flow.Text(vector["text"])
		e, err := Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for name, want := range map[string]bool{"true": true, "false": false} {
			for _, value := range vector[name].([]any) {
				if got, err := e.Test(t.Context(), value); err != nil || got != want {
					t.Errorf("%s with %s is %v, %v, want %v", text, flow.EncodeJSON(value), got, err, want)
				}
			}
		}
	}
}
