package db

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/fairness"
)

// Recovery after a crash differs between the databases. On SQLite there is one
// process: it recovers everything when it starts, and finds out from the jobs and
// from the busy file which runs were executing (recovery_sqlite.go). On PostgreSQL
// every instance regularly looks for instances without a recent heartbeat and takes
// their work over (recovery_postgres.go). ListHolds is the safety net: it finds runs
// that no instance works on although none has died.
//
// A run that may have crashed the process is not simply retried, because it might
// crash every process that takes it. It is held back as a suspect and then tried
// separately from other runs; package flow decides when.

// recovery takes work back from dead workers in one transaction.
type recovery struct {
	tx     *core.Tx
	report flow.Recovery
}

// Recover returns the runs and deliveries of dead workers to the queue. On
// SQLite it is called once at start, holding the engine lock, before any worker
// runs; on PostgreSQL periodically, for instances without a recent heartbeat.
func (s *Recovery) Recover(ctx context.Context, instanceID string) (flow.Recovery, error) {
	work := (*recovery).afterRestart
	if s.DB.IsPostgres() {
		work = (*recovery).afterSilence
		if quiet, err := nothingSilent(ctx, s.DB); err != nil || quiet {
			return flow.Recovery{}, err
		}
	}
	var report flow.Recovery
	err := s.DB.WriteVitalRows(ctx, core.Durable, "runs", func(tx *core.Tx) error {
		r := &recovery{tx: tx}
		if err := work(r, instanceID); err != nil {
			return err
		}
		if err := r.listSuspects(); err != nil {
			return err
		}
		report = r.report
		return nil
	})
	if err != nil {
		return report, fmt.Errorf("recover: %w", err)
	}
	s.DB.BusyBefore = nil // their crash is now counted
	return report, nil
}

// takeBack takes a run from its dead worker, and holds it back if it is a suspect.
// A crash does not count against a run that the worker had not started.
func (r *recovery) takeBack(runID flow.RunID, c fairness.Crash) error {
	p := gen.CutRunParams{ID: runID}
	if !r.tx.Store.IsPostgres() { // on PostgreSQL, any instance may take the run
		p.InstanceID = r.tx.ReserveWorker()
	}
	if c.Started {
		p.Crashed, p.WasBusy, p.Guilt = 1, dbconn.BoolInt(c.Busy), c.Guilt()
	}
	row, err := r.tx.Queries.CutRun(r.tx.Ctx, p)
	if err != nil {
		r.tx.ReturnWorker(p.InstanceID)
	}
	if dbconn.IsNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take back %s: %w", runID, err)
	}
	if c.MakesSuspect(row.BusyCrashes, row.Crashes) {
		r.tx.ReturnWorker(p.InstanceID)
		_, err := r.tx.Queries.ParkRun(r.tx.Ctx, gen.ParkRunParams{ID: runID, FromPlace: core.PlaceWorker, Place: core.PlaceSuspect})
		r.tx.RecordMove(row.WorkspaceID, row.FlowID, core.PlaceWorker, core.PlaceSuspect)
		return err
	}
	r.report.Runs++
	r.tx.HandRun(flow.Job{Kind: flow.JobRun, ID: string(runID), Attempt: row.Attempt}, p.InstanceID)
	return nil
}

// listSuspects reports the suspects of this recovery, and earlier ones that
// have not been tried yet.
func (r *recovery) listSuspects() error {
	rows, err := r.tx.Queries.ListSuspects(r.tx.Ctx)
	r.report.Suspects = dbconn.MapRows(rows, func(s gen.ListSuspectsRow) flow.Suspect {
		return flow.Suspect{RunID: s.ID, WorkspaceID: s.WorkspaceID, FlowID: s.FlowID, TrialSize: int(s.TrialSize), Guilt: int(s.Guilt)}
	})
	return err
}

// TrySuspects claims suspects for the caller, without jobs, and returns their
// attempt numbers. Suspects that another instance has claimed are left out.
// From now on a crash counts against them again.
func (s *Recovery) TrySuspects(ctx context.Context, runIDs []flow.RunID) (attempts map[flow.RunID]int64, err error) {
	err = s.DB.WriteRows(ctx, core.Durable, "runs", func(tx *core.Tx) error {
		attempts = map[flow.RunID]int64{}
		return core.EachID(tx, "runs", "try", runIDs, func(id flow.RunID) error {
			r, err := tx.Queries.TrySuspect(tx.Ctx, gen.TrySuspectParams{ID: id, InstanceID: s.DB.Holder(), Busy: tx.BusyAt(s.DB.Holder()), TrialSize: int64(len(runIDs))})
			if dbconn.IsNoRows(err) {
				return nil
			}
			if err != nil {
				return err
			}
			attempts[id] = r.Attempt
			tx.RecordMove(r.WorkspaceID, r.FlowID, core.PlaceSuspect, core.PlaceWorker)
			return nil
		})
	})
	return attempts, err
}

// RequeueRuns returns runs to the queue at shutdown, given the attempts by run ID. It
// counts no crash and skips runs that are fenced.
func (s *Recovery) RequeueRuns(ctx context.Context, attempts map[flow.RunID]int64) error {
	if len(attempts) == 0 {
		return nil
	}
	return s.DB.WriteRows(ctx, core.Durable, "runs", func(tx *core.Tx) error {
		return core.EachID(tx, "runs", "requeue", slices.Sorted(maps.Keys(attempts)), func(id flow.RunID) error { return requeueRun(tx, id, attempts[id]) })
	})
}

// requeueRun returns a run to the queue, unless it is fenced.
func requeueRun(tx *core.Tx, runID flow.RunID, attempt int64) error {
	next, err := tx.Queries.RequeueRun(tx.Ctx, gen.RequeueRunParams{ID: runID, Attempt: attempt})
	if dbconn.IsNoRows(err) {
		return nil
	}
	if err == nil {
		tx.Enqueue(flow.Job{Kind: flow.JobRun, ID: string(runID), Attempt: next})
	}
	return err
}
