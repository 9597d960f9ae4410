package db

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sluice/db/gen"
	"sluice/flow"
)

// suspectAfter is how many crashes in a row, with nothing recorded between,
// put a run under suspicion of causing them.
const suspectAfter = 2

// recovery takes work back from dead workers, in one transaction.
type recovery struct {
	tx     *Tx
	report flow.Recovery
}

// Recover hands what dead workers held back to the queue. On SQLite it is
// called once at start, holding the engine lock, when nothing of ours runs; on
// PostgreSQL from time to time, for instances that have fallen silent.
func (s *Store) Recover(ctx context.Context, instanceID string) (flow.Recovery, error) {
	work := (*recovery).afterRestart
	if s.pool != nil {
		work = (*recovery).afterSilence
		if quiet, err := s.nothingSilent(ctx); err != nil || quiet {
			return flow.Recovery{}, err
		}
	}
	var report flow.Recovery
	err := s.write(ctx, durable, func(tx *Tx) error {
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
	return report, nil
}

// cut takes a run away from its dead worker. Whether the crash counts against
// the run depends on whether the worker had begun with it.
func (r *recovery) cut(runID string, crashed bool) error {
	row, err := r.tx.CutRun(r.tx.ctx, gen.CutRunParams{ID: runID, Crashed: flag(crashed)})
	if isNoRows(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take back %s: %w", runID, err)
	}
	if crashed && row.Crashes >= suspectAfter {
		_, err := r.tx.ParkRun(r.tx.ctx, gen.ParkRunParams{ID: runID, FromPlace: placeWorker, Place: placeSuspect})
		r.tx.moved(row.WorkspaceID, row.FlowID, placeWorker, placeSuspect)
		return err
	}
	r.report.Runs++
	r.tx.Enqueue(flow.Job{Kind: flow.JobRun, ID: runID, Attempt: row.Attempt})
	return nil
}

// listSuspects reports the suspects of this recovery, and of an earlier one
// that was itself cut before anybody looked at them.
func (r *recovery) listSuspects() error {
	rows, err := r.tx.ListSuspects(r.tx.ctx)
	r.report.Suspects = mapRows(rows, func(s gen.ListSuspectsRow) flow.Suspect {
		return flow.Suspect{RunID: s.ID, WorkspaceID: s.WorkspaceID, FlowID: s.FlowID, Attempt: s.Attempt, Crashes: int(s.Crashes)}
	})
	return err
}

// column reads one column of texts from the queue's tables, whose schema is
// not ours to generate queries for.
func (tx *Tx) column(query string, args ...any) (list []string, err error) {
	rows, err := tx.db.QueryContext(tx.ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// TryAlone hands a suspect to the caller itself, without a job, and returns
// the attempt to work under. A crash from now on counts against it again.
func (s *Store) TryAlone(ctx context.Context, runID string) (attempt int64, err error) {
	err = s.write(ctx, durable, func(tx *Tx) error {
		r, err := tx.MoveRun(tx.ctx, gen.MoveRunParams{ID: runID, FromPlace: placeSuspect, Place: placeWorker})
		if isNoRows(err) {
			return ErrFenced
		}
		if err != nil {
			return fmt.Errorf("try %s: %w", runID, err)
		}
		attempt = r.Attempt
		tx.moved(r.WorkspaceID, r.FlowID, placeSuspect, placeWorker)
		return tx.HoldRun(tx.ctx, gen.HoldRunParams{ID: runID, InstanceID: s.holder()})
	})
	return attempt, err
}

// holder names this instance in rows that it holds.
func (s *Store) holder() string {
	if id := s.self.Load(); id != nil && *id != "" {
		return *id
	}
	return "alone"
}

// HandBack returns runs to the queue at shutdown, attempt by run ID. It counts
// no crash; those that are fenced are passed over.
func (s *Store) HandBack(ctx context.Context, attempts map[string]int64) error {
	if len(attempts) == 0 {
		return nil
	}
	return s.write(ctx, durable, func(tx *Tx) error {
		for _, id := range slices.Sorted(maps.Keys(attempts)) {
			next, err := tx.HandBackRun(tx.ctx, gen.HandBackRunParams{ID: id, Attempt: attempts[id]})
			if isNoRows(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("hand back %s: %w", id, err)
			}
			tx.Enqueue(flow.Job{Kind: flow.JobRun, ID: id, Attempt: next})
		}
		return nil
	})
}
