package document_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/cputime"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// TestValidate_bounds_checks proves that checks of nodes that take long end, and that the nodes
// after them are reported instead of being accepted.
func TestValidate_bounds_checks(t *testing.T) {
	t.Parallel()
	var text string
	slow := flow.Kind{Name: "slow", Title: "Slow", Summary: "Takes long to check.", Group: "test", Run: func(context.Context, *flow.In) (flow.Out, error) { return flow.Out{}, nil }, Check: func(*flow.Node) []flow.Problem {
		for used := time.Duration(0); used < 100*time.Millisecond; {
			used += cputime.Measure(func() { text = strings.Repeat("a", 1<<20) })
		}
		return nil
	}}
	d := &flow.Document{Schema: flow.Schema, Name: "x"}
	for i := range 50 {
		d.Nodes = append(d.Nodes, flow.Node{ID: fmt.Sprint("n", i), Kind: "slow", Config: map[string]any{}})
	}
	defer func() { _ = text }()
	unchecked := 0
	flowtest.CheckCPU(t, func() {
		for _, p := range document.Validate(d, flow.NewRegistry(slow)) {
			if p.Code == "unchecked" {
				unchecked++
			}
		}
	})
	if unchecked < 40 || unchecked > 49 {
		t.Errorf("%d of 50 nodes were not checked", unchecked)
	}
}

// TestValidate_bounds_ports proves that a node cannot declare so many ports that the time for
// looking them up matters.
func TestValidate_bounds_ports(t *testing.T) {
	t.Parallel()
	var names strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&names, "{{a%d}}", i)
	}
	d, problems := document.ParseDocument(flowtest.Document("t fill {}"))
	if d == nil {
		t.Fatal(problems)
	}
	d.Nodes[0].Config = map[string]any{"template": names.String()}
	flowtest.CheckCPU(t, func() { problems = document.Validate(d, flowtest.Kinds) })
	if len(problems) == 0 || !strings.Contains(fmt.Sprint(problems), "at most 1000 inputs") {
		t.Errorf("got %.300v", problems)
	}
	var escapes strings.Builder
	escapes.WriteString(strings.Repeat(`\{{`, 350_000))
	flowtest.CheckCPU(t, func() {
		if _, err := flow.ParseTemplate(escapes.String()); err != nil {
			t.Error(err)
		}
	})
}
