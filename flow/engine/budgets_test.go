package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/document"
	"sluice/flow/flowtest"
)

// fakeBudget is a budget store with a limit. It counts the recorded cost of the run.
type fakeBudget struct {
	s     *fixture
	limit int64
	fault error
	asked []string
	delay time.Duration // of the second reservation
}

// ReserveSpending implements flow.BudgetStore. It considers only what is on disk.
func (p *fakeBudget) ReserveSpending(_ context.Context, r flow.Reservation) error {
	keyID := r.KeyID
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.asked = append(p.asked, keyID)
	if p.fault != nil {
		return p.fault
	}
	if p.delay > 0 && len(p.asked) == 2 {
		return &flow.DelayError{Wait: p.delay}
	}
	b := flow.Budget{FlowID: "flow_1", Unit: flow.BudgetUSD, Limit: p.limit}
	for _, w := range p.s.disk.log {
		for _, r := range w.rows {
			b.Used += int64(r.step.Spent.CostNanoUSD)
		}
	}
	if b.UsedUp() {
		return b.Refusal(time.Now())
	}
	return nil
}

// paidKind is a call that costs money unless its text is "free".
func paidKind() flow.Kind {
	k := flowtest.WorkKind("paid", flow.Outside)
	k.Charge = func(config map[string]any) (flow.Charge, bool) {
		return flow.Charge{Model: "test/" + flow.Text(config["text"])}, config["text"] != "free"
	}
	return k
}

func budgeted(t *testing.T, limit int64, lines string) (*fixture, *fakeBudget) {
	s := newFixture(t, lines, paidKind())
	p := &fakeBudget{s: s, limit: limit}
	s.engine.Budgets = p
	return s, p
}

// Each call of the test kinds costs 7 nano-dollars.
func TestBudget_fails_next_paid_step_when_used_up(t *testing.T) {
	t.Parallel()
	s, p := budgeted(t, 14, "a paid\n b paid\n c paid\n a.text -> b.values\n b.text -> c.values")
	s.disk.first.KeyID = "key_1"
	s.disk.reset()
	run := s.finish()
	s.wantEnd(flow.RunFailed, flow.CodeBudgetExceeded)
	s.wantStates("a succeeded, b succeeded, c failed")
	if run.Usage.CostNanoUSD != 14 || run.Error.Node != "c" || run.Error.Retryable || strings.Join(p.asked, " ") != "key_1 key_1 key_1" {
		t.Errorf("cost %d, error %+v, asked for %q", run.Usage.CostNanoUSD, run.Error, p.asked)
	}
}

func TestBudget_allows_free_steps_when_used_up(t *testing.T) {
	t.Parallel()
	s, p := budgeted(t, 7, `
		a paid
		b paid {"text": "free"}
		c call
		d paid {} {"on_error": "route", "retry": {"attempts": 3, "backoff_s": 1}}
		e paid {"text": "free"}
		a.text -> b.values
		b.text -> c.values
		c.text -> d.values
		d.error -> e.values`)
	s.finish()
	s.wantEnd(flow.RunSucceeded, "")
	s.wantStates("a succeeded, b succeeded, c succeeded, d failed, e succeeded")
	if d := s.step("d"); len(p.asked) != 2 || d.Attempt != 1 || codeOf(d.Error) != flow.CodeBudgetExceeded {
		t.Errorf("asked %d times; d after %d attempts: %+v", len(p.asked), d.Attempt, d.Error)
	}
}

func TestBudget_counts_failed_attempts(t *testing.T) {
	t.Parallel()
	k := paidKind()
	k.Run = func(context.Context, *flow.In) (flow.Out, error) {
		return flow.Out{Usage: flowtest.OneCall}, &flow.Error{Code: flow.CodeOutputInvalid, Message: "It does not fit.", Retryable: true}
	}
	s := newFixture(t, `a paid {} {"retry": {"attempts": 9, "backoff_s": 0}}`, k)
	s.engine.Budgets = &fakeBudget{s: s, limit: 20}
	run := s.finish()
	s.wantEnd(flow.RunFailed, flow.CodeBudgetExceeded)
	if run.Usage.CostNanoUSD != 21 {
		t.Errorf("cost %d, want 21 after three calls", run.Usage.CostNanoUSD)
	}
}

// Running steps are being paid for, so they finish and are recorded. No more steps begin.
func TestBudget_lets_running_steps_finish(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s, _ := budgeted(t, 7, `
			slow paid {"takes_s": 50}
			bad  paid {"takes_s": 60, "text": "free"} {"timeout_s": 40, "retry": {"attempts": 3, "backoff_s": 1}}
			a    paid {"takes_s": 10}
			b    paid
			deep paid {"text": "free"}
			a.text -> b.values
			slow.text -> deep.values`)
		run := s.finish()
		wantTime(t, passed(), 50*time.Second)
		s.wantEnd(flow.RunFailed, flow.CodeBudgetExceeded)
		s.wantStates("slow succeeded, bad failed, a succeeded, b failed")
		if run.Usage.CostNanoUSD != 14 {
			t.Errorf("cost %d, want 14", run.Usage.CostNanoUSD)
		}
	})
}

func TestBudget_run_can_be_canceled_while_steps_finish(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s, _ := budgeted(t, 7, "slow paid {\"takes_s\": 50}\n a paid {\"takes_s\": 10}\n b paid\n a.text -> b.values")
		if outcome, err := s.execute(t.Context(), Signals{Cancel: after(20 * time.Second)}); outcome != Ended || err != nil {
			t.Fatal(outcome, err)
		}
		wantTime(t, passed(), 20*time.Second)
		s.wantEnd(flow.RunCanceled, "")
		s.wantStates("slow canceled, a succeeded, b failed")
	})
}

func TestBudget_run_times_out_while_steps_finish(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s, _ := budgeted(t, 7, "slow paid {\"takes_s\": 50}\n a paid {\"takes_s\": 10}\n b paid\n a.text -> b.values")
		s.disk.first.Timeout = 30 * time.Second
		s.disk.reset()
		s.finish()
		wantTime(t, passed(), 30*time.Second)
		s.wantEnd(flow.RunFailed, flow.CodeBudgetExceeded)
		s.wantStates("slow canceled, a succeeded, b failed")
	})
}

// knownPrice has the same price for every model.
type knownPrice flow.Price

// FindPrice implements flow.PriceStore.
func (p knownPrice) FindPrice(context.Context, flow.WorkspaceID, string) (flow.Price, bool, error) {
	return flow.Price(p), true, nil
}

// risingPrice costs more each time it is read.
type risingPrice struct{ reads int64 }

// FindPrice implements flow.PriceStore.
func (p *risingPrice) FindPrice(context.Context, flow.WorkspaceID, string) (flow.Price, bool, error) {
	p.reads++
	return flow.Price{Call: flow.NanoUSD(p.reads)}, true, nil
}

// TestBudget_and_cost_of_an_attempt_follow_from_one_price: the price is read once for the reservation and the cost, and again for the next attempt.
func TestBudget_and_cost_of_an_attempt_follow_from_one_price(t *testing.T) {
	t.Parallel()
	k := paidKind()
	k.Charge = func(map[string]any) (flow.Charge, bool) { return flow.Charge{Model: "test/x"}, true }
	var costs []int64
	k.Run = func(ctx context.Context, in *flow.In) (flow.Out, error) {
		price, _, err := in.Price(ctx, "test/x")
		if costs = append(costs, int64(price.Call)); len(costs) < 3 {
			err = &flow.Error{Code: flow.CodeProviderUnavailable, Message: "Gone.", Retryable: true}
		}
		return flow.Out{Outputs: map[string]any{"text": "x"}}, err
	}
	s := newFixture(t, `a paid {} {"retry": {"attempts": 3, "backoff_s": 0}}`, k)
	s.engine.Budgets, s.engine.Prices = &fakeBudget{s: s, limit: 1000}, &risingPrice{}
	s.finish()
	if got := fmt.Sprint(costs); got != "[1 2 3]" {
		t.Errorf("the attempts cost %s", got)
	}
}

// TestBudget_counts_lost_calls has calls whose bill is unknown. The step counts as unpriced once,
// and budgets count the estimate of each call as far as it exceeds the known cost.
func TestBudget_counts_lost_calls(t *testing.T) {
	t.Parallel()
	k, calls := paidKind(), 0
	k.Charge = func(map[string]any) (flow.Charge, bool) { return flow.Charge{Model: "test/x"}, true }
	k.Run = func(context.Context, *flow.In) (flow.Out, error) {
		if calls++; calls == 3 {
			return flow.Out{Outputs: map[string]any{"text": "x"}, Usage: flow.Usage{CostNanoUSD: 3}}, nil
		}
		return flow.Out{Lost: true, Usage: flow.Usage{CostNanoUSD: 2, UnpricedSteps: 1}}, &flow.Error{Code: flow.CodeProviderUnavailable, Message: "Gone.", Retryable: true}
	}
	s := newFixture(t, `a paid {} {"retry": {"attempts": 3, "backoff_s": 0}}`, k)
	s.engine.Budgets, s.engine.Prices = &fakeBudget{s: s, limit: 1000}, knownPrice{Call: 50}
	run := s.finish()
	s.wantEnd(flow.RunSucceeded, "")
	if run.Usage != (flow.Usage{CostNanoUSD: 7, UnpricedSteps: 1, LostNanoUSD: 96}) {
		t.Errorf("usage %+v", run.Usage)
	}
	for i, a := range s.step("a").Attempts {
		if want := i < 2; a.Lost != want || a.Unpriced != want {
			t.Errorf("attempt %d: %+v", a.Number, a)
		}
	}
}

// TestBudget_counts_interrupted_calls kills the worker during a paid call: the call may have been
// charged, so its attempt is lost and the step unpriced.
func TestBudget_counts_interrupted_calls(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s, _ := budgeted(t, 1000, "a paid {\"takes_s\": 9}\n b call {\"takes_s\": 9}")
		ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
		defer kill()
		if outcome, _ := s.execute(ctx, Signals{}); outcome != HandedBack {
			t.Fatal(outcome)
		}
		run := s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if tries := s.step("a").Attempts; run.Usage.UnpricedSteps != 1 || len(tries) != 2 || !tries[0].Lost || tries[1].Lost {
			t.Errorf("usage %+v, attempts %+v", run.Usage, tries)
		}
		if tries := s.step("b").Attempts; len(tries) != 2 || tries[0].Lost {
			t.Errorf("a free step is lost: %+v", tries)
		}
	})
}

// TestBudget_counts_interrupted_calls_of_ended_runs kills the worker during a paid call. The run
// then ends without another attempt of the step.
func TestBudget_counts_interrupted_calls_of_ended_runs(t *testing.T) {
	for name, end := range map[string]struct {
		stop func(p *Plan)
		want flow.RunState
		code flow.Code
	}{
		"failed":   {func(p *Plan) { p.Fail(flow.Errorf(flow.CodePoisoned, "It crashed.")) }, flow.RunFailed, flow.CodePoisoned},
		"canceled": {(*Plan).Cancel, flow.RunCanceled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
				s, _ := budgeted(t, 1000, "a paid {\"takes_s\": 9}\n b call {\"takes_s\": 9}\n c paid {\"takes_s\": 9, \"text\": \"free\"}")
				ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
				defer kill()
				if outcome, _ := s.execute(ctx, Signals{}); outcome != HandedBack {
					t.Fatal(outcome)
				}
				run, steps := s.disk.claim()
				p := NewPlan(s.g, run, steps, nil)
				end.stop(p)
				if outcome, err := s.engine.Execute(t.Context(), p, Signals{}); outcome != Ended || err != nil {
					t.Fatal(outcome, err)
				}
				s.wantEnd(end.want, end.code)
				s.wantStates("a canceled, b canceled, c canceled")
				a := s.step("a")
				if tries := a.Attempts; s.disk.run.Usage.UnpricedSteps != 1 || a.Spent.UnpricedSteps != 1 || !a.Interrupted || len(tries) != 1 || !tries[0].Lost || tries[0].EndedAt.IsZero() {
					t.Errorf("usage %+v, step %+v", s.disk.run.Usage, a)
				}
				for _, free := range []string{"b", "c"} {
					if s := s.step(free); s.Interrupted || s.Usage.UnpricedSteps != 0 || len(s.Attempts) > 0 && s.Attempts[0].Lost {
						t.Errorf("a free step is lost: %+v", s)
					}
				}
			})
		})
	}
}

// A step that resumes external work is not checked again.
func TestBudget_does_not_check_resumed_step(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ func() time.Duration) {
		s, p := budgeted(t, 7, "a paid {\"pauses\": 2, \"pause_s\": 5}")
		s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		if len(p.asked) != 1 {
			t.Errorf("asked %d times, want once", len(p.asked))
		}
	})
}

func TestBudget_reports_read_error(t *testing.T) {
	t.Parallel()
	s, p := budgeted(t, 100, "a paid")
	p.fault = errors.New("the disk is gone")
	s.finish()
	s.wantEnd(flow.RunFailed, flow.CodeInternal)
	if len(s.reports) != 1 || !strings.Contains(s.reports[0], "check the budgets: the disk is gone") {
		t.Errorf("reported %q", s.reports)
	}
}

func TestBudgetRefusal_names_budget_and_reset_time(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 12, 31, 23, 30, 0, 0, time.FixedZone("", 3600)) // 22:30 UTC
	for name, c := range map[string]struct {
		budget flow.Budget
		want   string
	}{
		"runs of a key": {flow.Budget{KeyID: "key_1", Name: "billing", Unit: flow.BudgetRuns, Limit: 5, Used: 5}, `The key "billing" has started the 5 runs it may start a day. `},
		"one run":       {flow.Budget{FlowID: "flow_1", Unit: flow.BudgetRuns, Limit: 1, Used: 1}, "This flow has started the 1 run it may start a day. "},
		"dollars":       {flow.Budget{FlowID: "flow_1", Unit: flow.BudgetUSD, Limit: 5e9, Used: 5_021_356_789}, "This flow has cost 5.021357 of the 5 USD it may cost a day. "},
	} {
		t.Run(name, func(t *testing.T) {
			e := c.budget.Refusal(now)
			want := c.want + "Days are UTC days; the next begins at 2027-01-01 00:00 UTC. Wait until then, or have the budget raised."
			if e.Message != want || e.Code != flow.CodeBudgetExceeded || e.After != 90*time.Minute || e.Budget == nil {
				t.Errorf("\n got %+v\nwant %s", e, want)
			}
		})
	}
}

func TestCharges_lists_each_model_once(t *testing.T) {
	t.Parallel()
	d, problems := document.ParseDocument(flowtest.Document(`
		a paid {"text": "one"}
		b paid {"text": "two"}
		c paid {"text": "one"}
		d paid {"text": "free"}
		e paid {"text": "three"} {"disabled": true}
		f call`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	list := document.Charges(d, flowtest.KindsAnd(paidKind()))
	if len(list) != 2 || list[0].Model != "test/one" || list[1].Model != "test/two" {
		t.Errorf("%+v", list)
	}
}

func TestParseUSD_accepts_plain_amounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"5": 5e9, "0.25": 25e7, " $1.5 ": 15e8, "0": 0, "1000000": 1e15, "0.000000001": 1, "1,500": 15e11, "$12,345.60": 123456e8, ".5": 5e8, "5.": 5e9, "007": 7e9} {
		if got, ok := flow.ParseUSD(text); !ok || got != flow.NanoUSD(want) {
			t.Errorf("ParseUSD(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "five", "-1", "NaN", "Inf", "1000001", "1,5", "0,50", "1,0000", ",500", "1.000,5", "0x1p4", "1e3", "1_000", "Infinity", "+5", "$", "$$5", ".", "5 000", "٥", strings.Repeat("9", 10_000)} {
		if got, ok := flow.ParseUSD(text); ok {
			t.Errorf("ParseUSD(%q) = %d", text, got)
		}
	}
	for text, want := range map[string]int64{"5": 5, " 1,000 ": 1000, "1000000": 1e6, "0": 0, "9223372036854775807": math.MaxInt64} {
		if got, ok := flow.ParseCount(text); !ok || got != want {
			t.Errorf("ParseCount(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "-1", "+1", "1.5", "1,5", "1e3", "0x10", "1_000", "NaN", "9223372036854775808"} {
		if got, ok := flow.ParseCount(text); ok {
			t.Errorf("ParseCount(%q) = %d", text, got)
		}
	}
	for nano, want := range map[flow.NanoUSD]string{0: "0", 1: "0.000001", 1_234_567: "0.001235", 5e9: "5", 125e7: "1.25"} {
		if got := nano.Rounded(); got != want {
			t.Errorf("%d rounded = %s, want %s", nano, got, want)
		}
	}
}

// TestBudget_delays_a_step_that_waits_for_it: such as one of a row of a batch. Paid steps are not repeated.
func TestBudget_delays_a_step_that_waits_for_it(t *testing.T) {
	inFakeTime(t, func(t *testing.T, passed func() time.Duration) {
		s, p := budgeted(t, 100, "a paid\n b paid\n a.text -> b.values")
		p.delay = 20 * time.Second
		run := s.finish()
		s.wantEnd(flow.RunSucceeded, "")
		wantTime(t, passed(), 20*time.Second)
		if run.Usage.CostNanoUSD != 14 || len(p.asked) != 3 {
			t.Errorf("cost %d after %d reservations", run.Usage.CostNanoUSD, len(p.asked))
		}
	})
}
