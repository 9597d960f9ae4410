package db

import (
	"context"
	"fmt"
	"path/filepath"

	"sluice/db/core"
	"sluice/db/gen"
	"sluice/flow/busy"
)

// BusyFile is the file in the data directory that marks the runs at work in an
// engine on SQLite.
const BusyFile = "sluice.busy"

// moreBusy is the number of marks beyond the capacity, for suspects on trial,
// which run beside the others.
const moreBusy = 1024

// BusyMarks returns the marks of this engine. On SQLite they survive the death
// of the process, and the previous engine's marks are kept for Recover; call it
// once, holding the engine lock, before Recover. On PostgreSQL, where another
// machine may recover, SaveBusy stores the marks.
func (s Instances) BusyMarks() *busy.Marks {
	size := busy.RegionSize(int(s.Workers.Load()) + moreBusy)
	if s.Pool() != nil {
		return busy.NewMarks(make([]byte, size))
	}
	region, before, err := mapBusyFile(filepath.Join(s.Config.DataDir, BusyFile), size)
	s.BusyBefore = map[string]bool{}
	for _, id := range busy.Read(before) {
		s.BusyBefore[id] = true
	}
	if err != nil {
		s.Config.Log.Warn("marks of busy runs cannot be stored; a run that crashes the process will be found later", "error", err)
		region = make([]byte, size)
	}
	return busy.NewMarks(region)
}

// SaveBusy stores for the other instances which runs of this instance have
// become busy and which no longer are.
func (s Instances) SaveBusy(ctx context.Context, begun, over []string) error {
	if len(begun)+len(over) == 0 {
		return nil
	}
	return s.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for i, list := range [][]string{over, begun} {
			for _, id := range list {
				if err := tx.MarkBusy(tx.Ctx, gen.MarkBusyParams{ID: id, Busy: int64(i), InstanceID: s.Holder()}); err != nil {
					return fmt.Errorf("mark %s: %w", id, err)
				}
			}
		}
		return nil
	})
}
