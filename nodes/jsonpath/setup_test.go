package jsonpath

import (
	"testing"

	"sluice/flow/pattern"
	"sluice/flow/value"
)

// testHost bounds evaluations as package nodes does.
type testHost struct{ *pattern.Budget }

// newHost returns a host with a budget for about 10 million steps.
func newHost(t testing.TB) testHost { return testHost{pattern.NewBudget(t.Context(), 60_000_000)} }

func (h testHost) Match(source, text string) (bool, error) {
	p, err := pattern.Compile(source)
	if err != nil {
		return false, nil
	}
	if err := h.Spend(100 * p.Weight); err != nil {
		return false, err
	}
	return p.Match(h.Budget, text)
}

// decode decodes JSON with the order of members and all digits.
func decode(t testing.TB, text string) any {
	t.Helper()
	v, err := value.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// find evaluates a path and returns the results as a JSON array.
func find(t testing.TB, path string, v any) string {
	t.Helper()
	p, err := Parse(path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	all := []any{}
	for item, err := range p.Select(v, newHost(t)) {
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, item)
	}
	return string(value.Encode(all))
}
