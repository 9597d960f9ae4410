package db

import (
	"context"
	"fmt"
	"path/filepath"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow"
	"sluice/flow/busy"
)

// BusyFile is the file in the data directory that marks the runs that an engine on
// SQLite is executing.
const BusyFile = "sluice.busy"

// extraMarks is the number of marks in addition to the capacity, for suspects on
// trial, which run in addition to the other runs.
const extraMarks = 1024

// BusyMarks returns the marks of this engine. On SQLite they survive a crash of the
// process, and the marks of the previous engine are kept for Recover. Call it once,
// with the engine lock held, before Recover. On PostgreSQL, where another machine
// may recover, SaveBusy stores the marks.
func (s *Instances) BusyMarks() *busy.Marks {
	size := busy.RegionSize(int(s.DB.Workers.Load()) + extraMarks)
	if s.DB.IsPostgres() {
		return busy.NewMarks(make([]byte, size))
	}
	region, before, err := mapBusyFile(filepath.Join(s.DB.Config.DataDir, BusyFile), size)
	s.DB.BusyBefore = map[flow.RunID]bool{}
	for _, id := range busy.Read(before) {
		s.DB.BusyBefore[flow.RunID(id)] = true
	}
	if err != nil {
		s.DB.Config.Log.Warn("marks of busy runs cannot be stored; a run that crashes the process cannot be found", "error", err)
		region = make([]byte, size)
	}
	return busy.NewMarks(region)
}

// SaveBusy stores which runs of this instance have become busy and which no longer
// are, for recovery by other instances.
func (s *Instances) SaveBusy(ctx context.Context, begun, over []flow.RunID) error {
	if len(begun)+len(over) == 0 {
		return nil
	}
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for i, list := range [][]flow.RunID{over, begun} {
			for _, id := range list {
				if err := tx.Queries.MarkBusy(tx.Ctx, gen.MarkBusyParams{ID: id, Busy: int64(i), InstanceID: s.DB.Holder()}); err != nil {
					return fmt.Errorf("mark %s: %w", id, err)
				}
			}
		}
		return nil
	})
}
