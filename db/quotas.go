package db

import (
	"context"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// The storage of a workspace is counted by every write that changes it, in counter
// rows of the table storage, because counting the content itself would read all of
// it. Package core keeps the counters (storage.go) and checks quotas.

// FindStorage returns the storage and the quotas of a workspace.
func (s *Quotas) FindStorage(ctx context.Context, ws flow.WorkspaceID) (*flow.WorkspaceStorage, error) {
	r, err := s.DB.Reads.FindQuotaAndStorage(ctx, ws)
	return dbconn.ConvertRow(gen.ListQuotasRow(r), err, "workspace", s.storageOf)
}

// ListStorage returns the storage and the quotas of the workspaces after an ID,
// ordered by ID.
func (s *Quotas) ListStorage(ctx context.Context, afterID string, limit int) ([]flow.WorkspaceStorage, error) {
	rows, err := s.DB.Reads.ListQuotas(ctx, gen.ListQuotasParams{AfterID: flow.WorkspaceID(afterID), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, s.storageOf, "list quotas")
}

func (s *Quotas) storageOf(r gen.ListQuotasRow) flow.WorkspaceStorage {
	own := flow.Storage{Bytes: r.QuotaBytes, Flows: r.QuotaFlows, Runs: r.QuotaRuns}
	return flow.WorkspaceStorage{
		ID: string(r.ID), Name: r.Name, Own: own, Limit: own.WithDefaults(r.ID, s.DB.Config.Quota),
		Used: flow.Storage{Bytes: max(0, r.Bytes), Flows: max(0, r.Flows), Runs: max(0, r.Runs)},
	}
}

// SetQuota sets the quotas of a workspace: 0 is unlimited and flow.DefaultQuota
// the server's default. A workspace that already exceeds a quota loses nothing,
// but cannot add anything.
func (s *Quotas) SetQuota(ctx context.Context, ws flow.WorkspaceID, own flow.Storage) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.SetQuota(tx.Ctx, gen.SetQuotaParams{ID: ws, QuotaBytes: own.Bytes, QuotaFlows: own.Flows, QuotaRuns: own.Runs})
		delete(tx.Batch.Counts.Quotas, ws)
		clear(tx.Batch.Counts.Limits)
		return dbconn.MustAffect(n, err, "workspace")
	})
}
