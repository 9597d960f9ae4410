package db_test

import (
	"context"
	"testing"
	"time"

	"sluice/db"
	"sluice/flow"
)

// callers is how many goroutines per processor share the group commits: 64 on
// the two cores that the figures in docs come from.
const callers = 32

func benchStore(b *testing.B, open func(testing.TB, ...func(*db.Config)) *db.Store) (*db.Store, *flow.Flow) {
	s := open(b, func(c *db.Config) { c.Capacity = 1 << 20 })
	s.UseQueue(&queue{in: func(any, []flow.Job) error { return nil }})
	f := &flow.Flow{WorkspaceID: ws, Name: "Bench"}
	if err := s.CreateFlow(context.Background(), f); err != nil {
		b.Fatal(err)
	}
	return s, f
}

// BenchmarkWrite is one row per caller, as many to a commit as come together.
func BenchmarkWrite(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			s, _ := benchStore(b, open)
			b.SetParallelism(callers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := s.Audit(context.Background(), ws, "cli", "bench", "", ""); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// BenchmarkRun is a whole run as the store sees it: started, loaded, ended
// with three steps.
func BenchmarkRun(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			s, f := benchStore(b, open)
			b.SetParallelism(callers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := wholeRun(s, f.ID); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

func wholeRun(s *db.Store, flowID string) error {
	ctx := context.Background()
	n := flow.NewRun{Run: flow.Run{
		WorkspaceID: ws, FlowID: flowID, Version: 1, DocumentHash: "abc", Trigger: flow.TriggerAPI, KeyID: "key_a",
		Inputs: map[string]any{"ticket": "The printer is on fire and nobody comes."}, Save: true, Timeout: time.Hour,
	}}
	started, err := s.StartRun(ctx, n)
	if err != nil {
		return err
	}
	r, _, err := s.LoadRun(ctx, started.Run.ID, started.Run.Attempt)
	if err != nil {
		return err
	}
	r.State, r.StartedAt, r.EndedAt = flow.RunSucceeded, time.Now(), time.Now()
	r.Outputs = map[string]any{"answer": "Somebody comes now."}
	steps := []flow.Step{step("ticket"), step("write"), step("answer")}
	return s.WriteRun(ctx, flow.RunWrite{Run: r, Steps: steps, End: true, Durable: true})
}
