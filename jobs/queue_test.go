package jobs

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/flow"
)

// TestQueue_stop_waits_for_reserved_workers shuts a queue down between the moment in which a
// transaction reserves a worker and the moment in which it hands its run over. A run that
// arrived after the shutdown would be at work in a process that believes to have none.
func TestQueue_stop_waits_for_reserved_workers(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Queue){
		"committed":   func(q *Queue) { q.Work([]flow.Job{{ID: "run_1"}}) },
		"rolled back": func(q *Queue) { q.Return(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			executed := make(chan struct{}, 1)
			q := &Queue{client: idleClient{}, startJob: func(flow.Job) func(context.Context) {
				return func(context.Context) { executed <- struct{}{} }
			}}
			q.runsCtx, q.abort = context.WithCancel(t.Context())
			if q.Take(0) {
				t.Error("a queue that was not started reserved a worker")
			}
			q.accept()
			if !q.Take(0) {
				t.Fatal("an open queue reserved no worker")
			}
			late, cancel := context.WithCancel(t.Context())
			cancel()
			if err := q.stop(late, 0); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("the queue stopped with a reserved worker: %v", err)
			}
			q.accept()
			if q.Take(0) {
				t.Error("a stopped queue reserved a worker")
			}
			stopped := make(chan error)
			go func() { stopped <- q.stop(t.Context(), time.Minute) }()
			end(q)
			if err := <-stopped; err != nil {
				t.Error(err)
			}
			if name == "committed" && len(executed) != 1 {
				t.Error("the queue stopped before the run had ended")
			}
		})
	}
}

// idleClient is a client without jobs.
type idleClient struct{}

func (idleClient) Start(context.Context) error         { return nil }
func (idleClient) Stop(context.Context) error          { return nil }
func (idleClient) StopAndCancel(context.Context) error { return nil }
