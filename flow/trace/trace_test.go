package trace_test

import (
	"context"
	"strings"
	"testing"

	"sluice/flow/trace"
)

const header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParse_reads_what_it_writes(t *testing.T) {
	t.Parallel()
	p, ok := trace.Parse(header)
	if !ok || p.String() != header || !p.Sampled {
		t.Fatalf("Parse = %v, %v", p, ok)
	}
	later, ok := trace.Parse("01" + strings.TrimSuffix(header[2:], "1") + "9-extra")
	if !ok || later.String() != header {
		t.Errorf("a later version is read as %v, %v", later, ok)
	}
}

func TestParse_refuses_invalid_headers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"empty":               "",
		"version ff":          "ff" + header[2:],
		"no trace":            "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01",
		"no span":             "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		"upper case":          strings.ToUpper(header),
		"short trace":         "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
		"not hexadecimal":     "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",
		"more than version 0": header + "-extra",
		"without flags":       strings.TrimSuffix(header, "-01"),
		"too long":            "01" + header[2:] + "-" + strings.Repeat("x", 200),
		"a line break":        header + "\r\nX-Evil: 1",
	} {
		if p, ok := trace.Parse(text); ok {
			t.Errorf("%s: %q is read as %v", name, text, p)
		}
		if got := trace.ParentOf(trace.WithParent(context.Background(), text)); got != "" {
			t.Errorf("%s: the context has %q", name, got)
		}
	}
}

func TestDeriveSpan_differs_for_each_part(t *testing.T) {
	t.Parallel()
	seen := map[trace.SpanID]bool{}
	for _, id := range []trace.SpanID{
		trace.DeriveSpan("run_1", "", 0), trace.DeriveSpan("run_1", "a", 0), trace.DeriveSpan("run_1", "a", 1), trace.DeriveSpan("run_1", "a", 11),
		trace.DeriveSpan("run_1", "a.1", 1), trace.DeriveSpan("run_1", "a1", 1), trace.DeriveSpan("run_2", "a", 1),
	} {
		if seen[id] {
			t.Errorf("%x occurs twice", id)
		}
		seen[id] = true
	}
	if again := trace.DeriveSpan("run_1", "a", 1); !seen[again] || trace.DeriveID("run_1") == trace.DeriveID("run_2") {
		t.Error("derived IDs are not stable, or equal for two runs")
	}
}
