package db_test

import (
	"sync"
	"testing"
	"time"

	"sluice/flow"
)

// ask starts a run whose step "ask" waits up to an hour for an answer.
func (w *fixture) ask(change ...func(*flow.NewRun)) *flow.Run {
	w.t.Helper()
	run := w.start(change...)
	run.Attempt = 1
	w.must(w.SaveApproval(w.ctx, "hash of "+string(run.ID), &flow.Approval{
		WorkspaceID: ws, FlowID: w.flow.ID, RunID: run.ID, Path: "ask", Node: "ask", ExpiresAt: w.clock.Now().Add(time.Hour),
		Question: flow.Question{Title: "Send?", Audience: flow.AudienceLink},
	}))
	return run
}

// letWait writes a run as waiting, as its worker does after the step has asked.
func (w *fixture) letWait(run *flow.Run) {
	w.t.Helper()
	until := w.clock.Now().Add(time.Hour)
	run.State, run.StartedAt = flow.RunWaiting, w.clock.Now()
	w.must(w.WriteRun(w.ctx, flow.RunWrite{Run: run, WakeAt: until, Steps: []flow.Step{{
		Path: "ask", Node: "ask", Kind: "approval", State: flow.StepWaiting, WaitUntil: until, Attempt: 1, StartedAt: w.clock.Now(),
	}}}))
}

// answer approves the question as a user.
func (w *fixture) answer(run *flow.Run, name string) (*flow.Approval, error) {
	return w.DecideApproval(w.ctx, ws, run.ID, "ask", flow.Decision{Outcome: flow.OutcomeApproved, By: flow.Answerer{Type: flow.ByMember, Name: name}},
		func(q *flow.Question, _ flow.Starter) (flow.Decision, error) {
			return q.CheckDecision(flow.Decision{Outcome: flow.OutcomeApproved, By: flow.Answerer{Type: flow.ByMember, Name: name}})
		})
}

// due returns when the waiting step runs again.
func (w *fixture) due(run *flow.Run) time.Time {
	w.t.Helper()
	steps, err := w.FindSteps(w.ctx, ws, run.ID)
	w.must(err)
	for _, s := range steps {
		if s.Path == "ask" {
			return s.WaitUntil
		}
	}
	w.t.Fatal("the step was not stored")
	return time.Time{}
}

func TestApprovals(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run := w.ask()
		w.letWait(run)
		open, err := w.OpenApprovals(w.ctx, ws, 10)
		w.must(err)
		wantEqual(t, "open", len(open), 1)
		wantEqual(t, "title", open[0].Question.Title, "Send?")
		found, err := w.FindApprovalByToken(w.ctx, "hash of "+string(run.ID))
		w.must(err)
		wantEqual(t, "by token", found.RunID, run.ID)
		_, err = w.FindApproval(w.ctx, "ws_other", run.ID, "ask")
		wantCode(t, err, flow.CodeNotFound)
		if d, err := w.TakeDecision(w.ctx, ws, run.ID, "ask", w.clock.Now()); err != nil || d != nil {
			t.Errorf("before the answer: got %+v, %v", d, err)
		}

		w.clock.move(time.Minute)
		a, err := w.answer(run, "Ada")
		w.must(err)
		wantEqual(t, "by", a.Decision.By.Name, "Ada")
		wantEqual(t, "due", w.due(run), w.clock.Now())
		_, err = w.answer(run, "Bob")
		wantCode(t, err, flow.CodeAlreadyDecided)
		wantEqual(t, "sentence", err.Error(), "Ada has already approved this.")
		d, err := w.TakeDecision(w.ctx, ws, run.ID, "ask", w.clock.Now())
		w.must(err)
		wantEqual(t, "outcome", d.Outcome, flow.OutcomeApproved)
		open, err = w.OpenApprovals(w.ctx, ws, 10)
		w.must(err)
		wantEqual(t, "open after the answer", len(open), 0)
	})
}

// TestDecideApproval_before_the_run_waits answers before the worker lets the run wait: the run must
// not then wait for an answer that it already has.
func TestDecideApproval_before_the_run_waits(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run := w.ask()
		_, err := w.answer(run, "Ada")
		w.must(err)
		w.letWait(run)
		wantEqual(t, "due", w.due(run), w.clock.Now())
		now, err := w.FindRun(w.ctx, ws, w.flow.ID, run.ID)
		w.must(err)
		wantEqual(t, "attempt of the next worker", now.Attempt, 2)
	})
}

func TestDecideApproval_accepts_one_concurrent_answer(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run := w.ask()
		w.letWait(run)
		var all sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			all.Go(func() { _, errs[i] = w.answer(run, "Ada") })
		}
		all.Wait()
		decided := 0
		for _, err := range errs {
			if err == nil {
				decided++
				continue
			}
			wantCode(t, err, flow.CodeAlreadyDecided)
		}
		wantEqual(t, "decisions", decided, 1)
	})
}

func TestDecideApproval_refuses_after_the_end(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		run := w.ask()
		w.letWait(run)
		w.clock.move(time.Hour)
		_, err := w.answer(run, "Ada")
		wantCode(t, err, flow.CodeAlreadyDecided)
		d, err := w.TakeDecision(w.ctx, ws, run.ID, "ask", w.clock.Now())
		w.must(err)
		wantEqual(t, "outcome", d.Outcome, flow.OutcomeExpired)

		canceled := w.ask()
		w.letWait(canceled)
		_, err = w.RequestCancel(w.ctx, ws, w.flow.ID, canceled.ID)
		w.must(err)
		_, err = w.answer(canceled, "Ada")
		wantCode(t, err, flow.CodeAlreadyDecided)

		// Asking again after a crash replaces the link, but never an answer.
		asked := w.ask()
		again := flow.Approval{WorkspaceID: ws, FlowID: w.flow.ID, RunID: asked.ID, Path: "ask", Node: "ask", ExpiresAt: w.clock.Now().Add(time.Hour)}
		w.must(w.SaveApproval(w.ctx, "second", &again))
		_, err = w.FindApprovalByToken(w.ctx, "hash of "+string(asked.ID))
		wantCode(t, err, flow.CodeNotFound)
		_, err = w.answer(asked, "Ada")
		w.must(err)
		w.must(w.SaveApproval(w.ctx, "third", &again))
		found, err := w.FindApprovalByToken(w.ctx, "second")
		w.must(err)
		wantEqual(t, "decision", found.Decision.By.Name, "Ada")
	})
}
