package pinned

import (
	"strconv"
	"strings"
	"testing"
)

func TestPinCache_evicts_unused(t *testing.T) {
	t.Parallel()
	c, made := &pinCache{}, 0
	find := func(i int) {
		c.find(string(rune(i)), func() *Pin { made++; return &Pin{} })
	}
	for i := range 10 * pinsKept {
		find(i)
		find(0) // asked for all the time, so it stays
	}
	if made != 10*pinsKept || len(c.young)+len(c.older) > 2*pinsKept {
		t.Errorf("%d made, %d kept", made, len(c.young)+len(c.older))
	}
}

// TestPinCache_evicts_by_weight checks that large forms are evicted soon.
func TestPinCache_evicts_by_weight(t *testing.T) {
	t.Parallel()
	c, made := &pinCache{}, 0
	for i := range 100 {
		c.find(strings.Repeat("x", i), func() *Pin { made++; return &Pin{weight: pinsWeight / 3} })
		c.find("", func() *Pin { made++; return &Pin{weight: 1} }) // asked for all the time, so it stays
	}
	kept := 0
	for _, generation := range []map[string]*Pin{c.young, c.older} {
		for _, p := range generation {
			kept += p.weight
		}
	}
	if made != 100 || kept > 2*pinsWeight {
		t.Errorf("%d made, %d bytes kept", made, kept)
	}
}

// TestPin_weight_estimates_memory compares the weight of a large form with the memory it takes.
func TestPin_weight_estimates_memory(t *testing.T) {
	t.Parallel()
	props := map[string]any{}
	for i := range 400 {
		props["p"+strconv.Itoa(i)] = map[string]any{"$ref": "#/components/schemas/s"}
	}
	schema := map[string]any{"version": "", "input": map[string]any{"type": "object", "properties": props},
		"all": map[string]any{"s": map[string]any{"enum": []any{"a", "b", "c"}, "properties": map[string]any{"a": map[string]any{}, "b": map[string]any{}}}}}
	p, why := Read(schema)
	if why != "" || p.Form.Parts < 400*6 || p.weight < partWeight*p.Form.Parts {
		t.Errorf("%d parts, weight %d, %s", p.Form.Parts, p.weight, why)
	}
}
