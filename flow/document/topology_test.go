package document

import (
	"slices"
	"testing"

	"sluice/flow/flowtest"
)

func TestRunOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"edges go forward": {"o output {\"name\": \"y\"}\n i input {\"name\": \"x\"}\n i.value -> o.value", []string{"i", "o"}},
		"a circle comes last": {"o output {\"name\": \"y\"}\n b template {\"template\": \"{{x}}\"}\n a template {\"template\": \"{{x}}\"}\n i input {\"name\": \"x\"}\n a.text -> b.x\n b.text -> a.x",
			[]string{"o", "i", "b", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := RunOrder(parsed(t, c.text), flowtest.Kinds); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
