package db_test

import (
	"context"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/value"
)

// callers is how many goroutines per processor share the group commits: 64 on
// the two cores that the figures in docs come from.
const callers = 32

func benchStore(b *testing.B, open func(testing.TB, ...func(*core.Config)) *db.Store) (*db.Store, *flow.Flow) {
	s := open(b, func(c *core.Config) { c.Capacity = 1 << 20 })
	s.UseQueue(&queue{in: func(any, []flow.Job) error { return nil }})
	f := &flow.Flow{WorkspaceID: ws, Name: "Bench"}
	if err := s.CreateFlow(context.Background(), f); err != nil {
		b.Fatal(err)
	}
	return s, f
}

// BenchmarkWrite writes one row per caller; concurrent callers share commits.
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

// BenchmarkRun starts and loads a run and ends it with three steps.
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

func wholeRun(s *db.Store, flowID flow.FlowID) error {
	ctx, cancel := context.WithCancel(context.Background()) // as a request's can be
	defer cancel()
	n := flow.NewRun{Run: flow.Run{
		WorkspaceID: ws, FlowID: flowID, Version: 1, DocumentHash: "abc", Trigger: flow.TriggerAPI, KeyID: "key_a",
		Inputs: value.FromMap(map[string]any{"ticket": "The printer is on fire and nobody comes."}), Save: true, Timeout: time.Hour,
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
	r.Outputs = value.FromMap(map[string]any{"answer": "Somebody comes now."})
	steps := []flow.Step{step("ticket"), step("write"), step("answer")}
	return s.WriteRun(ctx, flow.RunWrite{Run: r, Steps: steps, End: true, Durable: true})
}

// BenchmarkAdmission ends a run, which admits the next one, with a million runs of a
// hundred keys in the queue.
func BenchmarkAdmission(b *testing.B) {
	const queued = 1_000_000
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			s, f := benchStore(b, open)
			s.SetCapacity(1)
			q := &queue{in: func(any, []flow.Job) error { return nil }}
			fillQueue(b, s, f.ID, queued)
			s.UseQueue(q)
			if _, err := s.AdmitRuns(context.Background(), 1); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for n := range b.N {
				j := q.jobs[n]
				r, _, err := s.LoadRun(context.Background(), flow.RunID(j.ID), j.Attempt)
				if err != nil {
					b.Fatal(err)
				}
				r.State = flow.RunSucceeded
				if err := s.WriteRun(context.Background(), flow.RunWrite{Run: r, End: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillQueue inserts many copies of one queued run.
func fillQueue(b *testing.B, s *db.Store, flowID flow.FlowID, n int) {
	b.Helper()
	s.UseQueue(nil)
	_, err := s.StartRun(context.Background(), flow.NewRun{Run: flow.Run{WorkspaceID: ws, FlowID: flowID, KeyID: "key_0"}})
	if err != nil {
		b.Fatal(err)
	}
	s.UseQueue(&queue{in: func(any, []flow.Job) error { return nil }})
	err = s.Write(context.Background(), false, func(tx *core.Tx) error {
		var columns []string
		for f := range reflect.TypeFor[gen.Run]().Fields() {
			columns = append(columns, snake(f.Name))
		}
		values := strings.Join(columns[1:], ", ")
		values = strings.Replace(values, "key_id", "'key_' || CAST(n % 100 AS TEXT)", 1)
		_, err := tx.DBTX.ExecContext(context.Background(), "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < "+strconv.Itoa(n)+
			") INSERT INTO runs ("+strings.Join(columns, ", ")+") SELECT 'run_copy' || CAST(10000000 + n AS TEXT), "+values+" FROM c CROSS JOIN runs r")
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
}

var inner = regexp.MustCompile(`([a-z])([A-Z])`)

func snake(name string) string {
	return strings.ToLower(inner.ReplaceAllString(strings.ReplaceAll(name, "ID", "Id"), "${1}_${2}"))
}
