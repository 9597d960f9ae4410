package db

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/lists"
	"sluice/flow"
)

// A version is a number and the hash of its document. Documents are stored once per
// workspace by their hash and never change, so versions, drafts that runs pinned, and
// runs share them.

// PublishFlow makes the document the live version. It creates a new version unless
// the document equals the latest one. If they differ in the order of members, the version gets the
// new order. Two concurrent publishes of the same document create one version.
func (s *Versions) PublishFlow(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, document []byte, summary, by string) (v flow.Version, created bool, err error) {
	hash, files := flow.DocumentHash(document), documentFiles(document)
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		// The update comes first: on PostgreSQL it locks the row of the flow, so that
		// two publishes cannot use the same number.
		if err := goLive(tx, ws, flowID, 0); err != nil {
			return err
		}
		latest, err := tx.Queries.LatestVersion(tx.Ctx, gen.LatestVersionParams{FlowID: flowID, WorkspaceID: ws})
		if err != nil && !dbconn.IsNoRows(err) {
			return fmt.Errorf("latest version of %s: %w", flowID, err)
		}
		created = err != nil || !flow.SameVersion(latest.DocumentHash, hash)
		if !created && latest.DocumentHash != hash {
			latest.DocumentHash = hash
			if err := reorderVersion(tx, latest, document); err != nil {
				return err
			}
		}
		if created {
			latest = gen.Version{
				FlowID: flowID, Number: latest.Number + 1, WorkspaceID: ws, DocumentHash: hash,
				Summary: dbconn.ValidText(summary), CreatedBy: by, CreatedAt: s.DB.NowMicros(),
			}
			if err := addVersion(tx, latest, document); err != nil {
				return err
			}
			if err := keepFiles(tx, ws, files); err != nil {
				return err
			}
		}
		v = versionOf(latest)
		return goLive(tx, ws, flowID, v.Number)
	})
	return v, created, err
}

// addVersion stores a version. Its document is stored once per hash, however many versions
// have it.
func addVersion(tx *core.Tx, v gen.Version, document []byte) error {
	pinned, err := tx.AddDocument(v.WorkspaceID, v.DocumentHash, document)
	if err != nil {
		return err
	}
	if err := tx.Queries.InsertVersion(tx.Ctx, gen.InsertVersionParams(v)); err != nil {
		return fmt.Errorf("insert version: %w", err)
	}
	return tx.TrackWithinQuota(v.WorkspaceID, flow.Storage{Bytes: flow.StorageItem + pinned})
}

// reorderVersion gives a version its document with another order of members. Runs that have begun
// keep the document that they began with.
func reorderVersion(tx *core.Tx, v gen.Version, document []byte) error {
	pinned, err := tx.AddDocument(v.WorkspaceID, v.DocumentHash, document)
	if err != nil {
		return err
	}
	if err := tx.Queries.SetVersionDocument(tx.Ctx, gen.SetVersionDocumentParams{FlowID: v.FlowID, Number: v.Number, WorkspaceID: v.WorkspaceID, DocumentHash: v.DocumentHash}); err != nil {
		return fmt.Errorf("reorder version: %w", err)
	}
	return tx.TrackWithinQuota(v.WorkspaceID, flow.Storage{Bytes: pinned})
}

// goLive makes a version the one that new runs use.
func goLive(tx *core.Tx, ws flow.WorkspaceID, flowID flow.FlowID, n int64) error {
	rows, err := tx.Queries.SetLiveVersion(tx.Ctx, gen.SetLiveVersionParams{ID: flowID, WorkspaceID: ws, Number: n, UpdatedAt: tx.Store.NowMicros()})
	return dbconn.MustAffect(rows, err, "flow")
}

// SetLiveVersion makes an existing version live. The caller adds the audit entry.
func (s *Versions) SetLiveVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64, by string) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.FindVersion(tx.Ctx, gen.FindVersionParams{FlowID: flowID, Number: n, WorkspaceID: ws}); err != nil {
			return dbconn.NotFoundErr(err, "version")
		}
		return goLive(tx, ws, flowID, n)
	})
}

// FindVersion returns one version of a flow.
func (s *Versions) FindVersion(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64) (*flow.Version, error) {
	r, err := s.DB.Reads.FindVersion(ctx, gen.FindVersionParams{FlowID: flowID, Number: n, WorkspaceID: ws})
	return dbconn.ConvertRow(r, err, "version", versionOf)
}

// ListVersions returns the versions of a flow, newest first.
func (s *Versions) ListVersions(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID) ([]flow.Version, error) {
	rows, err := s.DB.Reads.ListVersions(ctx, gen.ListVersionsParams{FlowID: flowID, WorkspaceID: ws})
	return dbconn.ConvertRows(rows, err, versionOf, "list versions of %s", flowID)
}

// FindDocument returns an immutable document by its hash.
func (s *Versions) FindDocument(ctx context.Context, ws flow.WorkspaceID, hash string) ([]byte, error) {
	body, err := s.DB.Reads.FindDocument(ctx, gen.FindDocumentParams{WorkspaceID: ws, Hash: hash})
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "document")
	}
	return []byte(body), nil
}

// maxCountedRuns bounds how many runs CountVersionRuns reads in each group of runs;
// see runs_filter.go. manyGroups is the number of groups in one query: SQLite
// allows 500 terms in a compound SELECT.
const (
	maxCountedRuns = 20_000
	manyGroups     = 200
)

// CountVersionRuns counts the runs of each published version since a time.
// complete is false if a version may have more runs than were counted.
func (s *Versions) CountVersionRuns(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, since time.Time) (runs map[int64]int64, complete bool, err error) {
	k := newRunFilter(&flow.RunQuery{WorkspaceID: ws, FlowID: flowID, From: since})
	k.equal["draft"] = int64(0)
	groups, err := runsOf(s.DB).runGroups(ctx, &k, math.MaxInt32)
	if err != nil {
		return nil, false, err
	}
	queries := []*lists.Query{k.countOpenQuery(maxCountedRuns)}
	for part := range slices.Chunk(groups, manyGroups) {
		queries = append(queries, k.countQuery(part, maxCountedRuns, s.DB.IsPostgres()))
	}
	runs, complete = map[int64]int64{}, true
	for _, q := range queries {
		sums := map[int64]int64{} // by group
		_, err := lists.Collect(ctx, s.DB, q, func(rows *sql.Rows) (none struct{}, err error) {
			var arm, version, n int64
			err = rows.Scan(&arm, &version, &n)
			runs[version] += n
			sums[arm] += n
			complete = complete && sums[arm] < maxCountedRuns
			return none, err
		})
		if err != nil {
			return nil, false, fmt.Errorf("count runs of %s: %w", flowID, err)
		}
	}
	return runs, complete, nil
}

// ListCallers returns the valid keys with runs of a flow that ended since a day,
// ordered by the number of runs.
func (s *Versions) ListCallers(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, since time.Time) ([]flow.Caller, error) {
	rows, err := s.DB.Reads.ListCallers(ctx, gen.ListCallersParams{WorkspaceID: ws, FlowID: flowID, FromDay: core.DayOf(since), Now: s.DB.NowMicros()})
	if err != nil {
		return nil, fmt.Errorf("list callers of %s: %w", flowID, err)
	}
	return dbconn.MapRows(rows, func(r gen.ListCallersRow) flow.Caller {
		return flow.Caller{KeyID: r.KeyID, Name: r.Name, Prefix: r.Prefix, Runs: r.Runs, LastDay: r.LastDay}
	}), nil
}

func versionOf(r gen.Version) flow.Version {
	reach, _ := dbconn.Decode[map[string]flow.ToolReach](r.Reach) // unreadable: not compared
	return flow.Version{
		FlowID: r.FlowID, Number: r.Number, DocumentHash: r.DocumentHash, Summary: r.Summary, By: r.CreatedBy, CreatedAt: dbconn.TimeOf(r.CreatedAt), Reach: reach,
	}
}

// SetVersionReach records what the flows that are tools of a version can do.
func (s *Versions) SetVersionReach(ctx context.Context, ws flow.WorkspaceID, flowID flow.FlowID, n int64, reach map[string]flow.ToolReach) error {
	text := dbconn.EncodeAny(reach)
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SetVersionReach(tx.Ctx, gen.SetVersionReachParams{FlowID: flowID, Number: n, WorkspaceID: ws, Reach: text})
	})
}

// ListLiveReach returns the flows of a workspace whose live versions have recorded reach, by name.
func (s *Versions) ListLiveReach(ctx context.Context, ws flow.WorkspaceID) ([]flow.LiveReach, error) {
	rows, err := s.DB.Reads.ListLiveReach(ctx, ws)
	return dbconn.ConvertRows(rows, err, func(r gen.ListLiveReachRow) flow.LiveReach {
		reach, _ := dbconn.Decode[map[string]flow.ToolReach](r.Reach)
		return flow.LiveReach{FlowID: r.ID, Slug: r.Slug, Name: r.Name, DocumentHash: r.DocumentHash, Reach: reach}
	}, "list the reach of live versions of %s", ws)
}
