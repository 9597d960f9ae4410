package engine

import (
	"context"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// caller returns an expanding kind that calls each of its tools once.
func caller(once bool) flow.Kind {
	k := expanding(func(in *flow.In, so *flow.Expansion) (next flow.Next, err error) {
		for _, tool := range in.Tools {
			if so.Done[tool.Node.ID] != nil {
				continue
			}
			config, ports, err := tool.Bind(map[string]any{})
			if err != nil {
				return next, err
			}
			next.Steps = append(next.Steps, flow.SubStep{Name: tool.Node.ID, Tool: tool.Node.ID, Kind: tool.Kind, Config: config, Ports: ports, Once: once})
		}
		text := ""
		for _, tool := range in.Tools {
			if r := so.Done[tool.Node.ID]; r != nil && r.Error != nil {
				text += string(r.Error.Code)
			} else if r != nil {
				text += flow.Text(r.Outputs["text"])
			}
		}
		if len(next.Steps) == 0 {
			next.Outputs = map[string]any{"text": text}
		}
		return next, nil
	})
	k.Inputs = append(k.Inputs, flow.Port{Name: "tools", Type: flow.TypeTool, List: true})
	return k
}

// toolKind returns a kind whose nodes can be tools.
func toolKind(name string, run func(ctx context.Context, in *flow.In) (flow.Out, error)) flow.Kind {
	k := flowtest.WorkKind(name, flow.Outside)
	k.Tool = &flow.ToolUse{}
	if run != nil {
		k.Run = run
	}
	return k
}

func TestTools_run_only_when_they_are_called(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s := newFixture(t, `
			in input {"name": "x"}
			a grow
			used do {"takes_s": 1} {"tool": {"description": "Acts."}}
			off do {"takes_s": 1} {"tool": {"description": "Acts."}, "disabled": true}
			out output {"name": "y"}
			in.value -> used.text
			used.tool -> a.tools
			off.tool -> a.tools
			a.text -> out.value`, caller(false), toolKind("do", nil))
		run := s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if got := s.rows(); got != "a succeeded, a.used succeeded, in succeeded, out succeeded" {
			t.Errorf("rows: %s", got)
		}
		if text := s.step("a.used").Input["text"]; text != "hello" || run.Progress != (flow.Progress{Done: 3, Total: 3}) {
			t.Errorf("bound to %v, progress %+v", text, run.Progress)
		}
	})
}

// TestCall_that_acts_once_is_not_made_again (R2): not after a crash, and not if no answer came.
func TestCall_that_acts_once_is_not_made_again(t *testing.T) {
	for _, c := range []struct {
		name  string
		once  bool
		crash bool
		want  string
		calls int
	}{
		{"after a crash", true, true, "outcome_unknown", 1},
		{"unless it may be repeated", false, true, "done", 2},
		{"when no answer came", true, false, "outcome_unknown", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				calls, durable := 0, false
				var s *fixture
				act := toolKind("do", func(ctx context.Context, in *flow.In) (flow.Out, error) {
					calls++
					durable = s.step("a.act").State == flow.StepRunning && s.durable
					if !c.crash {
						return flow.Out{Unanswered: true}, &flow.Error{Code: flow.CodeHTTPFailed, Message: "No answer.", Retryable: true}
					}
					if calls == 1 {
						<-ctx.Done()
						return flow.Out{}, ctx.Err()
					}
					return flow.Out{Outputs: map[string]any{"text": "done"}}, nil
				})
				s = newFixture(t, `
					a grow
					act do {} {"tool": {"description": "Acts."}, "retry": {"attempts": 3}}
					act.tool -> a.tools`, caller(c.once), act)
				if c.crash {
					ctx, stop := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, stop)
					if _, err := s.execute(ctx, Signals{}); err == nil {
						t.Fatal("the worker was not stopped")
					}
				}
				s.finish()
				s.wantEnd(flow.RunSucceeded, "")
				if got := s.step("a").Outputs["text"]; got != c.want || calls != c.calls || durable != c.once {
					t.Errorf("got %v after %d calls, start synced: %v", got, calls, durable)
				}
			})
		})
	}
}
