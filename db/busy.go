package db

import (
	"context"
	"fmt"
	"path/filepath"

	"sluice/db/gen"
	"sluice/flow"
)

// BusyFile holds the marks of the runs at work in the engine, in the data
// directory of an engine on SQLite.
const BusyFile = "sluice.busy"

// moreBusy is for how many runs beyond the capacity there are marks: suspects on
// trial are worked on beside the others.
const moreBusy = 1024

// BusyMarks returns the marks of this engine. On SQLite they survive the death
// of the process, and those of the engine before are remembered for Recover; call
// it once, holding the engine lock, before Recover. On PostgreSQL, where another
// machine may recover, SaveBusy stores what matters.
func (s *Store) BusyMarks() *flow.BusyMarks {
	size := flow.BusyRegionSize(int(s.workers.Load()) + moreBusy)
	if s.pool != nil {
		return flow.NewBusyMarks(make([]byte, size))
	}
	region, before, err := mapBusyFile(filepath.Join(s.cfg.DataDir, BusyFile), size)
	s.busyBefore = map[string]bool{}
	for _, id := range flow.ReadBusy(before) {
		s.busyBefore[id] = true
	}
	if err != nil {
		s.cfg.Log.Warn("runs that stop the process will be found late: the marks of busy runs are not kept", "error", err)
		region = make([]byte, size)
	}
	return flow.NewBusyMarks(region)
}

// SaveBusy stores for the other instances which runs of this one have begun to
// be at work for longer than a moment, and which no longer are.
func (s *Store) SaveBusy(ctx context.Context, begun, over []string) error {
	if len(begun)+len(over) == 0 {
		return nil
	}
	return s.write(ctx, relaxed, func(tx *Tx) error {
		for i, list := range [][]string{over, begun} {
			for _, id := range list {
				if err := tx.MarkBusy(tx.ctx, gen.MarkBusyParams{ID: id, Busy: int64(i), InstanceID: s.holder()}); err != nil {
					return fmt.Errorf("mark %s: %w", id, err)
				}
			}
		}
		return nil
	})
}
