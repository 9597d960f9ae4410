package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
	"sluice/flow/value"
)

// devNull is a journal that discards all writes.
type devNull struct{}

func (devNull) WriteRun(context.Context, flow.RunWrite) error { return nil }

// benchmarkRun plans and executes new runs of a flow without a disk.
func benchmarkRun(b *testing.B, lines string) {
	g := graphOf(b, lines)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	e := &Engine{Journal: devNull{}, Now: func() time.Time { return now }, Report: func(err error) { b.Error(err) }}
	run := &flow.Run{ID: "run_1", State: flow.RunQueued, Inputs: value.FromMap(map[string]any{"x": "hello"}), Timeout: flow.RunTimeout}
	b.ReportAllocs()
	for b.Loop() {
		p := NewPlan(g, run, nil, nil)
		if outcome, err := e.Execute(context.Background(), p, Signals{}); outcome != Ended || err != nil || p.run.State != flow.RunSucceeded {
			b.Fatal(outcome, err, p.run.Error)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(g.Len()), "ns/node")
}

func BenchmarkThreeInlineNodes(b *testing.B) {
	benchmarkRun(b, `
		x input {"name": "x"}
		f fill  {"template": "Hello {{x}}"}
		o output {"name": "o"}
		x.value -> f.x
		f.text -> o.value`)
}

func BenchmarkChain(b *testing.B) {
	var lines strings.Builder
	lines.WriteString("n0 input {\"name\": \"x\"}\n")
	for i := 1; i < flow.MaxNodes; i++ {
		port := "text"
		if i == 1 {
			port = "value"
		}
		fmt.Fprintf(&lines, "n%d fill {\"template\": \"{{x}}\"}\n n%d.%s -> n%d.x\n", i, i-1, port, i)
	}
	benchmarkRun(b, lines.String())
}

// BenchmarkFan runs as many parallel nodes as a flow may have, joined in one list.
func BenchmarkFan(b *testing.B) {
	var lines strings.Builder
	lines.WriteString("x input {\"name\": \"x\"}\n all note_down\n o output {\"name\": \"o\"}\n all.text -> o.value\n")
	for i := range flow.MaxNodes - 3 {
		fmt.Fprintf(&lines, "n%d fill {\"template\": \"%d {{x}}\"}\n x.value -> n%d.x\n n%d.text -> all.values\n", i, i, i, i)
	}
	benchmarkRun(b, lines.String())
}

// BenchmarkOutsideChain has a write before and after every step.
func BenchmarkOutsideChain(b *testing.B) {
	var lines strings.Builder
	lines.WriteString("n0 call\n")
	for i := 1; i < 100; i++ {
		fmt.Fprintf(&lines, "n%d call\n n%d.text -> n%d.values\n", i, i-1, i)
	}
	benchmarkRun(b, lines.String())
}

func BenchmarkCompile(b *testing.B) {
	var lines strings.Builder
	lines.WriteString("x input {\"name\": \"x\"}\n")
	for i := range flow.MaxNodes - 1 {
		fmt.Fprintf(&lines, "n%d fill {\"template\": \"%d {{x}}\"}\n x.value -> n%d.x\n", i, i, i)
	}
	data := flowtest.Document(lines.String())
	b.ReportAllocs()
	for b.Loop() {
		d, _ := document.ParseDocument(data)
		if _, err := Compile(d, flowtest.Kinds); err != nil {
			b.Fatal(err)
		}
	}
}
