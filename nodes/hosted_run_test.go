package nodes

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/engine"
	"sluice/providers"
	"sluice/providers/hosted"
)

// paintingFixture returns a run with a node whose prediction follows p.
func paintingFixture(t *testing.T, p play, change func(*flow.Node)) *runFixture {
	t.Helper()
	return newRunFixture(t, newMemoryHost(p), painting(t, painter, map[string]any{"input.prompt": "x"}), func(d *flow.Document) {
		if change != nil {
			change(&d.Nodes[0])
		}
	})
}

func wantState(t *testing.T, s flow.Step, state flow.StepState, code flow.Code) {
	t.Helper()
	if got := s.Error; s.State != state || (got == nil) != (code == "") || got != nil && got.Code != code {
		t.Errorf("the step is %s (%v), want %s %s", s.State, got, state, code)
	}
}

func TestHostedModel_polls_until_end(t *testing.T) {
	inBubble(t, func(t *testing.T, passed func() time.Duration) {
		r := paintingFixture(t, play{takes: 40 * time.Second}, nil)
		wantState(t, r.finish(), flow.StepSucceeded, "")
		if n := len(r.host.polls); n > 14 || passed() > 45*time.Second || r.run.WaitingSince != (time.Time{}) {
			t.Errorf("%d polls in %s", n, passed())
		}
	})
}

func TestHostedModel_polls_despite_errors(t *testing.T) {
	away := &providers.Error{Class: providers.ClassUnavailable, Message: "Away.", Retryable: true}
	nonsense := &providers.Error{Class: providers.ClassBadAnswer, Message: "Nonsense."}
	auth := &providers.Error{Class: providers.ClassAuth, Message: "Not you."}
	lost := &providers.Error{Class: providers.ClassNotFound, Message: "Lost."}
	tests := []struct {
		name  string
		poll  func(n int) error
		state flow.StepState
		code  flow.Code
		stops int
	}{
		{"that passes", until(30, away), flow.StepSucceeded, "", 0},
		{"now and then", func(n int) error {
			if n%2 == 0 {
				return nonsense
			}
			return nil
		}, flow.StepSucceeded, "", 0},
		{"answers that go on making no sense", until(1000, nonsense), flow.StepFailed, flow.CodeOutputInvalid, 1},
		{"a credential that was taken away", until(1000, auth), flow.StepFailed, flow.CodeProviderAuth, 1},
		{"a prediction that nobody knows", until(1000, lost), flow.StepFailed, flow.CodeProviderRejected, 1}, // it may run anyway
		{"a prediction that nobody knows yet", until(1, lost), flow.StepSucceeded, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ func() time.Duration) {
				r := paintingFixture(t, play{takes: 50 * time.Second, poll: tt.poll}, nil)
				wantState(t, r.finish(), tt.state, tt.code)
				if r.host.begun() != 1 || r.host.canceled() != tt.stops {
					t.Errorf("%d begun, %d canceled", r.host.begun(), r.host.canceled())
				}
			})
		})
	}
}

func until(n int, err error) func(int) error {
	return func(i int) error {
		if i <= n {
			return err
		}
		return nil
	}
}

// TestHostedModel_suspends_after_a_minute checks that the run then waits without a worker,
// that each wake-up polls once, and that the wait does not count toward time limits.
func TestHostedModel_suspends_after_a_minute(t *testing.T) {
	inBubble(t, func(t *testing.T, passed func() time.Duration) {
		r := paintingFixture(t, play{takes: 3 * time.Hour}, nil)
		if outcome := r.execute(t.Context(), engine.Signals{}); outcome != engine.Suspended || r.run.State != flow.RunWaiting || r.step().State != flow.StepWaiting {
			t.Fatalf("outcome %d, run %s, step %s", outcome, r.run.State, r.step().State)
		}
		if passed() < time.Minute || passed() > 66*time.Second {
			t.Errorf("held its worker for %s", passed())
		}
		for range 5 {
			asked := len(r.host.polls)
			time.Sleep(time.Until(r.wake))
			before := passed()
			if r.execute(t.Context(), engine.Signals{}) != engine.Suspended || len(r.host.polls) != asked+1 || passed() != before {
				t.Errorf("a wake-up asked %d times and took %s", len(r.host.polls)-asked, passed()-before)
			}
		}
		step := r.finish()
		if wantState(t, step, flow.StepSucceeded, ""); r.host.begun() != 1 || passed() > 3*time.Hour+time.Minute {
			t.Errorf("%d begun, %s passed", r.host.begun(), passed())
		}
	})
}

func TestHostedModel_gives_up_after_a_day(t *testing.T) {
	inBubble(t, func(t *testing.T, passed func() time.Duration) {
		r := paintingFixture(t, play{takes: 1000 * time.Hour}, nil)
		wantState(t, r.finish(), flow.StepFailed, flow.CodeStepTimeout)
		if r.host.canceled() != 1 || passed() > 24*time.Hour+2*time.Minute {
			t.Errorf("%d canceled after %s", r.host.canceled(), passed())
		}
	})
}

// TestHostedModel_resumes_after_crash checks that a prediction whose ID is stored is continued,
// whatever the worker was doing when it was killed.
func TestHostedModel_resumes_after_crash(t *testing.T) {
	tests := []struct {
		name  string
		takes time.Duration
		out   any
		kill  time.Duration
		begun int
	}{
		{"while it polls", 10 * time.Second, []any{}, 5 * time.Second, 1},
		{"while the run waits", 10 * time.Minute, []any{}, 90 * time.Second, 1},
		{"while the output is copied", time.Second, []any{"https://replicate.delivery/hangs"}, 5 * time.Second, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ func() time.Duration) {
				r := paintingFixture(t, play{takes: tt.takes, end: hosted.Prediction{Output: tt.out}}, nil)
				r.host.files["https://replicate.delivery/hangs"] = "hangs"
				ctx, kill := context.WithTimeout(t.Context(), tt.kill)
				defer kill()
				r.execute(ctx, engine.Signals{})
				time.Sleep(time.Second)
				r.host.mu.Lock()
				r.host.files["https://replicate.delivery/hangs"] = "content"
				r.host.mu.Unlock()
				wantState(t, r.finish(), flow.StepSucceeded, "")
				if r.host.begun() != tt.begun || r.host.canceled() != 0 {
					t.Errorf("%d begun, %d canceled", r.host.begun(), r.host.canceled())
				}
			})
		})
	}
}

// TestHostedModel_cancels_prediction_without_stored_ID checks that a prediction that a
// retry could not find is not left running.
func TestHostedModel_cancels_prediction_without_stored_ID(t *testing.T) {
	t.Run("the write fails", func(t *testing.T) {
		inBubble(t, func(t *testing.T, _ func() time.Duration) {
			r := paintingFixture(t, play{takes: time.Hour}, nil)
			r.write = func(w flow.RunWrite) error {
				if len(w.Steps) == 1 && w.Steps[0].Saved != nil {
					return flow.ErrFenced
				}
				return nil
			}
			if r.execute(t.Context(), engine.Signals{}) != engine.HandedBack || r.host.begun() != 1 || r.host.canceled() != 1 {
				t.Errorf("%d begun, %d canceled", r.host.begun(), r.host.canceled())
			}
		})
	})
	t.Run("the write is committed but returns an error", func(t *testing.T) {
		inBubble(t, func(t *testing.T, _ func() time.Duration) {
			r := paintingFixture(t, play{takes: 10 * time.Minute, end: hosted.Prediction{Output: []any{}}}, nil)
			broken := true
			r.after = func(w flow.RunWrite) error {
				if broken && len(w.Steps) == 1 && w.Steps[0].Saved != nil {
					return errors.New("the connection broke off")
				}
				return nil
			}
			ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
			defer kill()
			if r.execute(ctx, engine.Signals{}) != engine.HandedBack || r.host.canceled() != 0 {
				t.Errorf("%d canceled, although the next attempt resumes it", r.host.canceled())
			}
			broken = false
			if wantState(t, r.finish(), flow.StepSucceeded, ""); r.host.begun() != 1 {
				t.Errorf("%d begun", r.host.begun())
			}
		})
	})
	t.Run("the worker is shut down while it begins", func(t *testing.T) {
		inBubble(t, func(t *testing.T, passed func() time.Duration) {
			r := paintingFixture(t, play{begins: 3 * time.Second, takes: time.Hour}, nil)
			ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
			defer stop()
			if r.execute(ctx, engine.Signals{}) != engine.HandedBack || r.host.canceled() != 1 || passed() != 3*time.Second {
				t.Errorf("%d canceled after %s", r.host.canceled(), passed())
			}
			if net := r.host.asked[0].CancelAfter; net != defaultTiming.give {
				t.Errorf("the platform ends it after %s", net)
			}
		})
	})
	t.Run("the run is canceled while it begins", func(t *testing.T) {
		inBubble(t, func(t *testing.T, passed func() time.Duration) {
			r := paintingFixture(t, play{begins: 800 * time.Millisecond, takes: time.Hour}, nil)
			if r.execute(t.Context(), engine.Signals{Cancel: closedAfter(300 * time.Millisecond)}) != engine.Ended || r.host.canceled() != 1 {
				t.Errorf("%d canceled", r.host.canceled())
			}
			if r.run.State != flow.RunCanceled || passed() != 800*time.Millisecond {
				t.Errorf("the run is %s after %s", r.run.State, passed())
			}
		})
	})
	t.Run("the platform does not answer", func(t *testing.T) {
		inBubble(t, func(t *testing.T, passed func() time.Duration) {
			r := paintingFixture(t, play{begins: time.Hour}, nil)
			if r.execute(t.Context(), engine.Signals{Cancel: closedAfter(time.Second)}) != engine.Ended || passed() != 2*time.Second {
				t.Errorf("ended after %s", passed())
			}
		})
	})
}

// closedAfter returns a channel that is closed after d.
func closedAfter(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// TestHostedModel_cancels_prediction checks that a step that ends early cancels its prediction.
func TestHostedModel_cancels_prediction(t *testing.T) {
	tests := []struct {
		name   string
		change func(*flow.Node)
		limit  time.Duration
		cancel time.Duration
		state  flow.StepState
		code   flow.Code
		run    flow.RunState
		after  time.Duration
	}{
		{"by a cancel while it polls", nil, 0, 7 * time.Second, flow.StepCanceled, "", flow.RunCanceled, 7 * time.Second},
		{"by its time limit", func(n *flow.Node) { n.TimeoutS = 20 }, 0, 0, flow.StepFailed, flow.CodeStepTimeout, flow.RunFailed, 20 * time.Second},
		{"by its time limit, after all attempts", func(n *flow.Node) { n.TimeoutS, n.Retry = 10, &flow.Retry{Attempts: 3, BackoffS: 1} }, 0, 0,
			flow.StepFailed, flow.CodeStepTimeout, flow.RunFailed, 33 * time.Second},
		{"by its time limit, where its failure is routed", func(n *flow.Node) { n.TimeoutS, n.OnError = 20, &flow.OnError{Route: true} }, 0, 0,
			flow.StepFailed, flow.CodeStepTimeout, flow.RunSucceeded, 20 * time.Second},
		{"by the run's time limit", nil, 30 * time.Second, 0, flow.StepCanceled, "", flow.RunFailed, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, passed func() time.Duration) {
				r := paintingFixture(t, play{takes: time.Hour}, tt.change)
				if tt.limit > 0 {
					r.run.Timeout = tt.limit
				}
				var sig engine.Signals
				if tt.cancel > 0 {
					sig.Cancel = closedAfter(tt.cancel)
				}
				if outcome := r.execute(t.Context(), sig); outcome != engine.Ended {
					t.Fatal(outcome)
				}
				wantState(t, r.step(), tt.state, tt.code)
				if r.run.State != tt.run || r.host.canceled() != 1 || r.host.begun() != 1 || passed() != tt.after {
					t.Errorf("the run is %s after %s, %d begun, %d canceled", r.run.State, passed(), r.host.begun(), r.host.canceled())
				}
			})
		})
	}
	t.Run("by a cancel while the run waits", func(t *testing.T) {
		inBubble(t, func(t *testing.T, _ func() time.Duration) {
			r := paintingFixture(t, play{takes: time.Hour}, nil)
			if r.execute(t.Context(), engine.Signals{}) != engine.Suspended {
				t.Fatal("the run does not wait")
			}
			r.run.CancelRequested = true
			if r.execute(t.Context(), engine.Signals{}) != engine.Ended || r.run.State != flow.RunCanceled || r.host.canceled() != 1 {
				t.Errorf("the run is %s, %d canceled", r.run.State, r.host.canceled())
			}
		})
	})
	t.Run("not by a shutdown", func(t *testing.T) {
		inBubble(t, func(t *testing.T, _ func() time.Duration) {
			r := paintingFixture(t, play{takes: time.Hour}, nil)
			ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
			defer stop()
			if r.execute(ctx, engine.Signals{}) != engine.HandedBack || r.host.canceled() != 0 {
				t.Errorf("%d canceled", r.host.canceled())
			}
		})
	})
}

func TestHostedModel_streams_text(t *testing.T) {
	words := func(n int) (list []string) {
		for range n {
			list = append(list, "word ")
		}
		return list
	}
	tests := []struct {
		name    string
		play    play
		shown   int // pieces
		streams int
		after   time.Duration // at most
	}{
		{"text as it comes", play{takes: 4 * time.Second, text: words(3)}, 3, 1, 5 * time.Second},
		{"on for longer than a minute while text comes", play{takes: 100 * time.Second, text: words(99)}, 99, 1, 101 * time.Second},
		{"no longer than half of the time that a step has", play{takes: 20 * time.Minute, text: words(1199)}, 300, 1, 21 * time.Minute},
		{"nothing more once the stream broke off", play{takes: 20 * time.Second, text: words(9), breaks: true}, 1, 1, 25 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, passed func() time.Duration) {
				tt.play.end = hosted.Prediction{Output: []any{"the ", "end"}}
				h := newMemoryHost(tt.play)
				r := newRunFixture(t, h, painting(t, writer, nil), nil)
				step := r.finish()
				wantState(t, step, flow.StepSucceeded, "")
				same(t, "output", step.Outputs["output"], "the end")
				if got := len(r.emitted.String()) / len("word "); got != tt.shown || h.streams != tt.streams || passed() > tt.after {
					t.Errorf("%d pieces shown, %d streams, %s", got, h.streams, passed())
				}
			})
		})
	}
	t.Run("streams again after a crash", func(t *testing.T) {
		inBubble(t, func(t *testing.T, _ func() time.Duration) {
			h := newMemoryHost(play{takes: 20 * time.Second, text: words(9), end: hosted.Prediction{Output: "all"}})
			r := newRunFixture(t, h, painting(t, writer, nil), nil)
			ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
			defer kill()
			r.execute(ctx, engine.Signals{})
			if wantState(t, r.finish(), flow.StepSucceeded, ""); h.streams != 2 || h.begun() != 1 {
				t.Errorf("%d streams, %d begun", h.streams, h.begun())
			}
		})
	})
}

// TestHostedModel_counts_usage_once checks that a paid prediction is counted once in the
// usage of the run, however often copying its output fails.
func TestHostedModel_counts_usage_once(t *testing.T) {
	const file = "https://replicate.delivery/file"
	tests := []struct {
		name, content string
		change        func(*flow.Node)
		kill          time.Duration
		state         flow.StepState
		code          flow.Code
	}{
		{"a file that is gone", "", nil, 0, flow.StepFailed, flow.CodeOutputInvalid},
		{"a file that breaks off in every attempt", "breaks", func(n *flow.Node) { n.Retry = &flow.Retry{Attempts: 3, BackoffS: 1} }, 0, flow.StepFailed, flow.CodeProviderUnavailable},
		{"a file that breaks off in one attempt", "breaks for an attempt", func(n *flow.Node) { n.Retry = &flow.Retry{Attempts: 3, BackoffS: 1} }, 0, flow.StepSucceeded, ""},
		{"a file that takes longer than the step may", "hangs", func(n *flow.Node) { n.TimeoutS = 20 }, 0, flow.StepFailed, flow.CodeStepTimeout},
		{"a file that takes longer than each attempt may", "hangs", func(n *flow.Node) { n.TimeoutS, n.Retry = 20, &flow.Retry{Attempts: 3, BackoffS: 1} }, 0, flow.StepFailed, flow.CodeStepTimeout},
		{"a worker that is killed meanwhile", "hangs", func(n *flow.Node) { n.TimeoutS = 20 }, 10 * time.Second, flow.StepFailed, flow.CodeStepTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, _ func() time.Duration) {
				r := paintingFixture(t, play{takes: time.Second, end: hosted.Prediction{Output: []any{file}, Seconds: 2, InputTokens: 7}}, tt.change)
				r.fixture.prices = priceList{"replicate/acme/painter": {Second: 1000}}
				if tt.content != "" {
					r.host.files[file] = tt.content
				}
				if tt.kill > 0 {
					ctx, kill := context.WithCancel(t.Context())
					time.AfterFunc(tt.kill, kill)
					r.execute(ctx, engine.Signals{})
				}
				wantState(t, r.finish(), tt.state, tt.code)
				if want := (flow.Usage{InputTokens: 7, CostNanoUSD: 2000}); r.run.Usage != want || r.step().Usage != want || r.host.begun() != 1 {
					t.Errorf("the run used %+v, the step %+v, want %+v; %d begun", r.run.Usage, r.step().Usage, want, r.host.begun())
				}
			})
		})
	}
	t.Run("a run that is canceled meanwhile", func(t *testing.T) {
		inBubble(t, func(t *testing.T, _ func() time.Duration) {
			r := paintingFixture(t, play{takes: time.Second, end: hosted.Prediction{Output: []any{file}, InputTokens: 7}}, nil)
			r.host.files[file] = "hangs"
			if r.execute(t.Context(), engine.Signals{Cancel: closedAfter(9 * time.Second)}) != engine.Ended || r.run.Usage.InputTokens != 7 {
				t.Errorf("the run used %+v", r.run.Usage)
			}
		})
	})
}
