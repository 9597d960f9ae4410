package flow

import (
	"slices"
	"testing"
)

func TestPortNames_follow_the_declaration(t *testing.T) {
	t.Parallel()
	ports := []Port{{Name: "true"}, {Name: "value"}, {Name: "false"}}
	values := map[string]any{"z": 1, "false": 2, "true": 3, "a": 4}
	if got, want := PortNames(values, ports), []string{"true", "false", "a", "z"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := PortNames(values, nil); !slices.IsSorted(got) || len(got) != 4 {
		t.Errorf("without ports: %q", got)
	}
}
