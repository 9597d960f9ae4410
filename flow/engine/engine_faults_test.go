package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

func TestEngine_reports_panic_as_internal_error(t *testing.T) {
	for _, class := range []flow.Class{flow.Inline, flow.Compute, flow.Outside} {
		t.Run(fmt.Sprint(class), func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				k := flowtest.WorkKind("bomb", class)
				k.Run = func(context.Context, *flow.In) (flow.Out, error) { panic("secret detail") }
				s := newFixture(t, "a bomb", k)
				run := s.finish()
				s.wantEnd(flow.RunFailed, flow.CodeInternal)
				if strings.Contains(run.Error.Message, "secret") || run.Error.Node != "a" {
					t.Errorf("%+v", run.Error)
				}
				if len(s.reports) != 1 || !strings.Contains(s.reports[0], "secret detail") || !strings.Contains(s.reports[0], "TestEngine_reports_panic_as_internal_error") {
					t.Errorf("reports: %q", s.reports)
				}
			})
		})
	}
}

func TestEngine_retries_failed_writes(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, "a call")
		s.busy = 3
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantTime(t, passed(), 350*time.Millisecond)
		if len(s.reports) != 3 {
			t.Errorf("reports: %q", s.reports)
		}
	})
}

// TestEngine_cancels_a_run_whose_end_comes_too_late requests the cancellation while the end of
// the run cannot be recorded.
func TestEngine_cancels_a_run_whose_end_comes_too_late(t *testing.T) {
	for name, fails := range map[string]bool{"that succeeded": false, "that failed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := flowtest.WorkKind("work", flow.Outside)
			if fails {
				k.Run = func(context.Context, *flow.In) (flow.Out, error) {
					return flow.Out{}, flow.Errorf(flow.CodeHTTPFailed, "It failed.")
				}
			}
			s := newFixture(t, "a work", k)
			s.canceled = true
			run := s.finish()
			if run.State != flow.RunCanceled || run.Error != nil {
				t.Errorf("the run is %s, %v", run.State, run.Error)
			}
			if state := s.disk.rows["a"].step.State; !state.Ended() {
				t.Errorf("the step is %s", state)
			}
		})
	}
}

func TestEngine_stops_retrying_writes_when_context_ends(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s := newFixture(t, "a call")
		s.busy = math.MaxInt
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if outcome, err := s.execute(ctx, Signals{}); outcome != HandedBack || err == nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), time.Minute)
	})
}

func TestEngine_redacts_secrets_in_recorded_input(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			x input {"name": "x"}
			a unlock {"secret": {"credential": "mine"}, "headers": {"Authorization": "Bearer {{x}}", "X-Key": "{{x}}", "Accept": "{{x}}"}}
			b unlock
			x.value -> a.x
			x.value -> b.secret`)
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if a := s.step("a"); a.Outputs["text"] != "14 characters" {
			t.Errorf("%v", a.Outputs)
		}
		wantJSON(t, s.step("a").Input["headers"], `{"Accept":"hello","Authorization":"[secret]","X-Key":"[secret]"}`)
		wantJSON(t, s.step("b").Input, `{"secret":"[secret]"}`)
	})
}

func wantJSON(t *testing.T, got any, want string) {
	t.Helper()
	if s := string(flow.EncodeJSON(got)); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestEngine_converts_outputs_to_values(t *testing.T) {
	deep := any("bottom")
	for range flow.MaxJSONDepth {
		deep = []any{deep}
	}
	tests := []struct {
		name  string
		value any
		want  string
		code  flow.Code
	}{
		{"Go lists and numbers become values", []string{"a", "b"}, `["a","b"]`, ""},
		{"inside lists too", []any{1, []string{"a"}, map[string]any{"n": uint8(3)}}, `[1,["a"],{"n":3}]`, ""},
		{"text is UTF-8", "a\xffb", `"a` + "\uFFFD" + `b"`, ""},
		{"no infinite numbers", math.Inf(1), "", flow.CodeInternal},
		{"no odd numbers", json.Number("1a"), "", flow.CodeInternal},
		{"no functions", func() {}, "", flow.CodeInternal},
		{"not too deep", deep, "", flow.CodeOutputInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				k := flowtest.WorkKind("odd", flow.Outside)
				k.Run = func(context.Context, *flow.In) (flow.Out, error) {
					return flow.Out{Outputs: map[string]any{"text": tt.value}}, nil
				}
				s := newFixture(t, "a odd\n o output {\"name\": \"o\"}\n a.text -> o.value", k)
				run := s.finish()
				if codeOf(run.Error) != tt.code {
					t.Fatal(run.Error)
				}
				if tt.want != "" {
					wantJSON(t, run.Outputs.Get("o"), tt.want)
				}
			})
		})
	}
}

func TestNormalizeOutputs_copies_what_it_changes(t *testing.T) {
	t.Parallel()
	list, object := []any{"a\xff", "b"}, map[string]any{"k": []string{"x"}}
	o := flow.Out{Outputs: map[string]any{"list": list, "object": object}}
	if err := normalizeOutputs(&o); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, o.Outputs, `{"list":["a`+"\uFFFD"+`","b"],"object":{"k":["x"]}}`)
	if _, kept := object["k"].([]string); !kept || list[0] != "a\xff" {
		t.Error("what others hold was changed")
	}
}
