package javascript

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"sluice/e2e/need"
	"sluice/flow/flowtest"
)

// TestRun_endless_programs proves that endless programs of one workspace do not hold up those of
// another until they reach their limit of CPU time.
func TestRun_endless_programs(t *testing.T) {
	t.Parallel()
	r := New()
	t.Cleanup(r.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var ended atomic.Int64
	for range 10 * r.slots {
		all.Go(func() {
			_, _ = r.Run(ctx, "busy", Program{Source: "export default () => { for (;;) {} }", Inputs: json.RawMessage("{}")})
			ended.Add(1)
		})
	}
	for range 3 {
		result, err := r.Run(t.Context(), "neighbor", Program{Source: "export default () => 1", Inputs: json.RawMessage("{}")})
		if err != nil || string(result.Value) != "1" {
			t.Errorf("got %s %v", result.Value, err)
		}
	}
	if n := ended.Load(); n > 0 {
		t.Errorf("%d endless programs ended before the neighbor's", n)
	}
	cancel()
	all.Wait()
}

// TestRun_long_programs proves that programs that have to begin again in a slot for long ones
// return the same as others, and their log once.
func TestRun_long_programs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("with the race detector, the programs reach their limit of CPU time")
	}
	r := New()
	t.Cleanup(r.Close)
	var all sync.WaitGroup
	for i := range r.slots + 1 {
		all.Go(func() {
			source := "export default ({i}) => { console.log('begun'); let n = 0; for (let k = 0; k < 6e6; k++) n += k % 2; return n + i; }"
			result, err := r.Run(t.Context(), "w", Program{Source: source, Inputs: json.RawMessage(fmt.Sprintf(`{"i":%d}`, i))})
			if err != nil || string(result.Value) != fmt.Sprint(3_000_000+i) || result.Log != "begun\n" {
				t.Errorf("%d: got %s %q %v", i, result.Value, result.Log, err)
			}
		})
	}
	all.Wait()
}

// TestCheck_bounds_work proves that no program is compiled in this process, and none for long.
func TestCheck_bounds_work(t *testing.T) {
	t.Parallel()
	need.Time(t)
	privates := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "#a%d;", i)
		}
		return "export default class {" + b.String() + "}"
	}
	for name, source := range map[string]string{
		"private members":   privates(30_000),
		"nested functions":  "export default " + strings.Repeat("(a=>", 3000) + "1" + strings.Repeat(")", 3000),
		"many variables":    "export default () => {" + strings.Repeat("let a;", 3) + "}",
		"template literals": "export default " + strings.Repeat("`${", 2000) + "1" + strings.Repeat("}`", 2000),
	} {
		flowtest.CheckCPU(t, func() {
			first := Check(source)
			if name == "private members" && (first == nil || !strings.Contains(first.Message, "could not be checked within 1 s")) {
				t.Errorf("%s: got %v", name, first)
			}
			if second := Check(source); first != nil && second != first {
				t.Errorf("%s: checked again: %v", name, second)
			}
		})
	}
}
