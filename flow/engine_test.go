package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubble runs a test with fake time, and tells how much of it passed.
func bubble(t *testing.T, f func(t *testing.T, passed func() time.Duration)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		f(t, func() time.Duration { return time.Since(begin) })
	})
}

func wantTime(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got != want {
		t.Errorf("took %s, want %s", got, want)
	}
}

// after closes a channel when the time has come.
func after(d time.Duration) chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

func TestEngineRunsInParallel(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		var now, most atomic.Int64
		k := workKind("count", Outside)
		k.Run = func(context.Context, *In) (Out, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(10 * time.Second)
			now.Add(-1)
			return Out{}, nil
		}
		var lines strings.Builder
		for i := range StepParallel + 4 {
			fmt.Fprintf(&lines, "n%d count\n", i)
		}
		s := newStation(t, lines.String(), k)
		s.finish()
		s.wantEnd(RunSucceeded, "")
		wantTime(t, passed(), 20*time.Second)
		if most.Load() != StepParallel {
			t.Errorf("%d at once, want %d", most.Load(), StepParallel)
		}
	})
}

func TestEngineCancel(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call {\"takes_s\": 50}\n b call\n a.text -> b.values")
		cancel := after(3 * time.Second)
		if outcome, err := s.carry(t.Context(), Signals{Cancel: cancel}); outcome != Ended || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
		s.wantEnd(RunCanceled, "")
		s.wantStates("a canceled")
	})
}

func TestEngineFailureStopsTheOthers(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `
			slow call {"takes_s": 50}
			bad  call {"takes_s": 100} {"timeout_s": 2}
			deep call
			slow.text -> deep.values`)
		s.finish()
		wantTime(t, passed(), 2*time.Second)
		s.wantEnd(RunFailed, CodeStepTimeout)
		s.wantStates("slow canceled, bad failed")
	})
}

func TestEngineBadInputStopsTheOthersAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `
			slow call {"takes_s": 50}
			list ask  {"take": "yes"}
			bad  call
			x input {"name": "x"}
			x.value -> list.value
			list.yes -> bad.text`)
		s.disk.first.Inputs["x"] = []any{"a list"}
		s.finish()
		wantTime(t, passed(), 0)
		s.wantEnd(RunFailed, CodeInputInvalid)
		s.wantStates("slow canceled, x succeeded, list succeeded, bad failed")
	})
}

func TestEngineStepTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `a call {"takes_s": 50} {"timeout_s": 5, "retry": {"attempts": 2, "backoff_s": 3}}`)
		s.finish()
		wantTime(t, passed(), 13*time.Second)
		s.wantEnd(RunFailed, CodeStepTimeout)
		if a := s.step("a"); a.Attempt != 2 || a.Error.Code != CodeStepTimeout || a.Error.Node != "a" {
			t.Errorf("%+v", a)
		}
	})
}

func TestEngineDefaultTimeouts(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		k := workKind("model", Outside)
		k.Timeout = ModelTimeout
		s := newStation(t, `a model {"takes_s": 5000} {"on_error": "route"}`, k)
		s.finish()
		wantTime(t, passed(), ModelTimeout)
		s = newStation(t, `a call {"takes_s": 5000} {"on_error": "route"}`)
		s.finish()
		wantTime(t, passed(), ModelTimeout+StepTimeout)
	})
}

func TestEngineRunTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `a call {"takes_s": 50}`)
		s.disk.first.Timeout, s.disk.run.Timeout = 5*time.Second, 5*time.Second
		s.finish()
		wantTime(t, passed(), 5*time.Second)
		s.wantEnd(RunFailed, CodeRunTimeout)
		s.wantStates("a canceled")
	})
}

// flaky fails so often before it succeeds.
func flaky(times int64, err error) Kind {
	var calls atomic.Int64
	k := workKind("flaky", Outside)
	k.Run = func(context.Context, *In) (Out, error) {
		if calls.Add(1) <= times {
			return Out{Usage: oneCall}, err
		}
		return Out{Usage: oneCall, Outputs: map[string]any{"text": "done"}}, nil
	}
	return k
}

func TestEngineRetry(t *testing.T) {
	away := &Error{Code: CodeProviderUnavailable, Message: "away", Retryable: true}
	tests := []struct {
		name   string
		policy string
		err    error
		state  RunState
		code   Code
		takes  time.Duration
	}{
		{"succeeds after doubling pauses", `{"retry": {"attempts": 4, "backoff_s": 2}}`, away, RunSucceeded, "", 14 * time.Second},
		{"gives up", `{"retry": {"attempts": 3, "backoff_s": 2}}`, away, RunFailed, CodeProviderUnavailable, 6 * time.Second},
		{"no policy, no retry", `{}`, away, RunFailed, CodeProviderUnavailable, 0},
		{"waits as long as it is asked to", `{"retry": {"attempts": 4, "backoff_s": 2}}`, &Error{Code: CodeProviderRateLimited, Retryable: true, After: 9 * time.Second}, RunSucceeded, "", 27 * time.Second},
		{"not what a retry cannot help", `{"retry": {"attempts": 9}}`, &Error{Code: CodeProviderAuth}, RunFailed, CodeProviderAuth, 0},
		{"not what is private", `{"retry": {"attempts": 9}}`, errors.New("secret detail"), RunFailed, CodeInternal, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, passed func() time.Duration) {
				s := newStation(t, "a flaky {} "+tt.policy, flaky(3, tt.err))
				run := s.finish()
				wantTime(t, passed(), tt.takes)
				s.wantEnd(tt.state, tt.code)
				if a := s.step("a"); run.Usage != a.Usage || a.Usage.InputTokens != int64(3*a.Attempt) {
					t.Errorf("usage %+v after %d attempts", a.Usage, a.Attempt)
				}
				if run.Error != nil && strings.Contains(run.Error.Message, "secret") {
					t.Errorf("private: %s", run.Error.Message)
				}
			})
		})
	}
}

func TestEngineHold(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `
			a call {"takes_s": 10}
			b call {"takes_s": 10}
			p call {"pauses": 1, "pause_s": 20}
			a.text -> b.values`)
		outcome, err := s.carry(t.Context(), Signals{Hold: after(3 * time.Second)})
		if outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 10*time.Second)
		s.wantStates("a succeeded, p running")
		s.finish()
		wantTime(t, passed(), 20*time.Second)
		s.wantEnd(RunSucceeded, "")
		if a := s.step("a"); a.Attempt != 1 {
			t.Errorf("a recorded step ran %d times", a.Attempt)
		}
	})
}

func TestEngineHoldOfAnIdleRun(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `a call {"pauses": 1, "pause_s": 20}`)
		if outcome, err := s.carry(t.Context(), Signals{Hold: after(3 * time.Second)}); outcome != HandedBack || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
	})
}

func TestEngineContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call {\"takes_s\": 50}\n b think {\"takes_s\": 50}")
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		outcome, err := s.carry(ctx, Signals{})
		if outcome != HandedBack || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 3*time.Second)
		s.wantStates("a running, b running")
		if s.writes != 1 {
			t.Errorf("%d writes, want the one before the steps began", s.writes)
		}
	})
}

func TestEngineContextEndsAnInlineChain(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		ctx, stop := context.WithCancel(t.Context())
		s, ran := chain(t, 1000, 500, stop)
		if outcome, err := s.carry(ctx, Signals{}); outcome != HandedBack || err == nil {
			t.Fatal(outcome, err)
		}
		if *ran != 500 || s.writes != 0 {
			t.Errorf("%d steps, %d writes", *ran, s.writes)
		}
	})
}

func TestEngineCancelsAnInlineChain(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		cancel := make(chan struct{})
		s, ran := chain(t, 1000, 500, func() { close(cancel) })
		if outcome, err := s.carry(t.Context(), Signals{Cancel: cancel}); outcome != Ended || err != nil {
			t.Fatal(outcome, err)
		}
		s.wantEnd(RunCanceled, "")
		if *ran != 500 || s.writes != 1 {
			t.Errorf("%d steps, %d writes", *ran, s.writes)
		}
	})
}

// chain is a run of so many inline steps, one of which calls do.
func chain(t *testing.T, length, at int, do func()) (*station, *int) {
	ran := new(int)
	k := workKind("link", Inline)
	k.Run = func(context.Context, *In) (Out, error) {
		if *ran++; *ran == at {
			do()
		}
		return Out{Outputs: map[string]any{"text": "on"}}, nil
	}
	var lines strings.Builder
	for i := range length {
		fmt.Fprintf(&lines, "n%d link\n", i)
		if i > 0 {
			fmt.Fprintf(&lines, "n%d.text -> n%d.values\n", i-1, i)
		}
	}
	return newStation(t, lines.String(), k), ran
}

func TestEngineSuspends(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, `
			a call {"pauses": 1, "pause_s": 30}
			b call {"pauses": 2, "pause_s": 3600}
			a.text -> b.values`)
		for i, at := range []time.Duration{30 * time.Second, 30*time.Second + time.Hour} {
			if outcome, err := s.carry(t.Context(), Signals{}); outcome != Suspended || err != nil {
				t.Fatal(i, outcome, err)
			}
			wantTime(t, passed(), at)
			if s.disk.run.State != RunWaiting || time.Until(s.disk.wakeAt()) != time.Hour {
				t.Errorf("%s until %s", s.disk.run.State, s.disk.wakeAt())
			}
			time.Sleep(time.Hour)
		}
		s.finish()
		s.wantEnd(RunSucceeded, "") // although it took twice its time limit
	})
}

func TestEnginePanic(t *testing.T) {
	for _, class := range []Class{Inline, Compute, Outside} {
		t.Run(fmt.Sprint(class), func(t *testing.T) {
			bubble(t, func(t *testing.T, _ func() time.Duration) {
				k := workKind("bomb", class)
				k.Run = func(context.Context, *In) (Out, error) { panic("secret detail") }
				s := newStation(t, "a bomb", k)
				run := s.finish()
				s.wantEnd(RunFailed, CodeInternal)
				if strings.Contains(run.Error.Message, "secret") || run.Error.Node != "a" {
					t.Errorf("%+v", run.Error)
				}
				if len(s.reports) != 1 || !strings.Contains(s.reports[0], "secret detail") || !strings.Contains(s.reports[0], "engine_test.go") {
					t.Errorf("reports: %q", s.reports)
				}
			})
		})
	}
}

func TestEngineRepeatsWrites(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call")
		s.busy = 3
		s.finish()
		s.wantEnd(RunSucceeded, "")
		wantTime(t, passed(), 350*time.Millisecond)
		if len(s.reports) != 3 {
			t.Errorf("reports: %q", s.reports)
		}
	})
}

func TestEngineStopsRepeatingWhenContextEnds(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call")
		s.busy = math.MaxInt
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if outcome, err := s.carry(ctx, Signals{}); outcome != HandedBack || err == nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), time.Minute)
	})
}

func TestEngineFenced(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		s := newStation(t, "a call {\"takes_s\": 5}\n b call {\"takes_s\": 50}")
		time.AfterFunc(time.Second, func() {
			s.mu.Lock()
			s.fenced = true
			s.mu.Unlock()
		})
		outcome, err := s.carry(t.Context(), Signals{})
		if outcome != HandedBack || !errors.Is(err, ErrFenced) {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 5*time.Second)
		s.wantStates("a running, b running")
	})
}

func TestEngineWaitsForItsSteps(t *testing.T) {
	bubble(t, func(t *testing.T, passed func() time.Duration) {
		var done sync.WaitGroup
		k := workKind("stubborn", Outside)
		k.Run = func(ctx context.Context, _ *In) (Out, error) {
			done.Add(1)
			defer done.Done()
			<-ctx.Done()
			time.Sleep(2 * time.Second) // cleaning up
			return Out{}, ctx.Err()
		}
		s := newStation(t, "a stubborn", k)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, _ = s.carry(ctx, Signals{})
		wantTime(t, passed(), 3*time.Second)
		done.Wait()
	})
}

func TestEngineSecrets(t *testing.T) {
	bubble(t, func(t *testing.T, _ func() time.Duration) {
		s := newStation(t, `
			x input {"name": "x"}
			a unlock {"secret": {"credential": "mine"}, "headers": {"Authorization": "Bearer {{x}}", "X-Key": "{{x}}", "Accept": "{{x}}"}}
			b unlock
			x.value -> a.x
			x.value -> b.secret`)
		s.finish()
		s.wantEnd(RunSucceeded, "")
		if a := s.step("a"); a.Outputs["text"] != "30 characters" {
			t.Errorf("%v", a.Outputs)
		}
		wantJSON(t, s.step("a").Input["headers"], `{"Accept":"hello","Authorization":"[secret]","X-Key":"[secret]"}`)
		wantJSON(t, s.step("b").Input, `{"secret":"[secret]"}`)
	})
}

func wantJSON(t *testing.T, got any, want string) {
	t.Helper()
	if s := string(EncodeJSON(got)); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestEngineTakesValuesOnly(t *testing.T) {
	deep := any("bottom")
	for range MaxJSONDepth {
		deep = []any{deep}
	}
	tests := []struct {
		name  string
		value any
		want  string
		code  Code
	}{
		{"Go lists and numbers become values", []string{"a", "b"}, `["a","b"]`, ""},
		{"inside lists too", []any{1, []string{"a"}, map[string]any{"n": uint8(3)}}, `[1,["a"],{"n":3}]`, ""},
		{"text is UTF-8", "a\xffb", `"a` + "\uFFFD" + `b"`, ""},
		{"no infinite numbers", math.Inf(1), "", CodeInternal},
		{"no odd numbers", json.Number("1a"), "", CodeInternal},
		{"no functions", func() {}, "", CodeInternal},
		{"not too deep", deep, "", CodeOutputInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ func() time.Duration) {
				k := workKind("odd", Outside)
				k.Run = func(context.Context, *In) (Out, error) {
					return Out{Outputs: map[string]any{"text": tt.value}}, nil
				}
				s := newStation(t, "a odd\n o output {\"name\": \"o\"}\n a.text -> o.value", k)
				run := s.finish()
				if codeOf(run.Error) != tt.code {
					t.Fatal(run.Error)
				}
				if tt.want != "" {
					wantJSON(t, run.Outputs["o"], tt.want)
				}
			})
		})
	}
}

// TestEngineWrites counts them: each is a wait for the disk.
func TestEngineWrites(t *testing.T) {
	tests := []struct {
		name, flow string
		writes     int
	}{
		{"inline steps are recorded with the end", "x input {\"name\": \"x\"}\n o output {\"name\": \"o\"}\n x.value -> o.value", 1},
		{"a last effect is recorded with the end", "a call", 2},
		{"an effect is recorded before what depends on it", "a call\n o output {\"name\": \"o\"}\n a.text -> o.value", 3},
		{"a computation is recorded with what it leads to", "a think\n b think\n a.text -> b.values", 3},
		{"a failure is recorded with the end", "a flaky\n b call\n a.text -> b.values", 2},
		{"but not later than others go on", "a think {\"takes_s\": 1}\n b think {\"takes_s\": 3}", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, _ func() time.Duration) {
				s := planStation(t, tt.flow)
				if s.finish(); s.writes != tt.writes {
					t.Errorf("%d writes, want %d", s.writes, tt.writes)
				}
			})
		})
	}
}

func TestValuesAreNotChangedInPlace(t *testing.T) {
	t.Parallel()
	list, object := []any{"a\xff", "b"}, map[string]any{"k": []string{"x"}}
	o := Out{Outputs: map[string]any{"list": list, "object": object}}
	if err := o.values(); err != nil {
		t.Fatal(err)
	}
	wantJSON(t, o.Outputs, `{"list":["a`+"\uFFFD"+`","b"],"object":{"k":["x"]}}`)
	if _, kept := object["k"].([]string); !kept || list[0] != "a\xff" {
		t.Error("what others hold was changed")
	}
}
