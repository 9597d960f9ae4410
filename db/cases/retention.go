package cases

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// reportLife is how long reports are kept. What they have of the content of runs is erased with these.
const reportLife = 400 * 24 * time.Hour

// unstartedLife is how long a test without a run is kept: the process was killed before it could start it or delete it.
const unstartedLife = 24 * time.Hour

// DropReports deletes tests that started more than 400 days ago, with their verdicts, and those that never started, at most limit of each.
func (s *Cases) DropReports(ctx context.Context, limit int) error {
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		unstarted, err := tx.Queries.DeleteUnstartedTests(tx.Ctx, gen.DeleteUnstartedTestsParams{Before: dbconn.Micros(s.DB.Now().Add(-unstartedLife)), MaxRows: int32(limit)})
		if err != nil {
			return fmt.Errorf("delete tests that never started: %w", err)
		}
		for _, t := range unstarted {
			tx.TrackBytes(t.WorkspaceID, -(flow.StorageItem + t.Bytes))
			if err := dropCaseSet(tx, t.WorkspaceID, t.SetHash); err != nil {
				return err
			}
		}
		old, err := tx.Queries.DeleteOldTests(tx.Ctx, gen.DeleteOldTestsParams{Before: dbconn.Micros(s.DB.Now().Add(-reportLife)), MaxRows: int32(limit)})
		if err != nil {
			return fmt.Errorf("delete old tests: %w", err)
		}
		for _, t := range old {
			if err := tx.Queries.DeleteVerdicts(tx.Ctx, t.ID); err != nil {
				return fmt.Errorf("delete the verdicts of %s: %w", t.ID, err)
			}
			tx.TrackBytes(t.WorkspaceID, -(flow.StorageItem + t.Bytes))
			if err := dropCaseSet(tx, t.WorkspaceID, t.SetHash); err != nil {
				return err
			}
		}
		return nil
	})
}
