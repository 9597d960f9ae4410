package db

import (
	"context"
	"crypto/hmac"
	"database/sql"
	"fmt"
	"slices"

	"sluice/db/auditkeys"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// VerifyAudit walks the audit log of a workspace, or of all workspaces if ws is
// empty, and compares it with its chain. It reads one snapshot, so entries may
// be written at the same time. A break is not an error; it is reported in the
// result.
func (s *AuditLog) VerifyAudit(ctx context.Context, ws flow.WorkspaceID) (list []flow.AuditChain, err error) {
	options := &sql.TxOptions{ReadOnly: s.DB.IsPostgres()}
	if s.DB.IsPostgres() {
		options.Isolation = sql.LevelRepeatableRead
	}
	t, err := s.DB.Reader.BeginTx(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer t.Rollback()
	read := gen.New(t)
	if !s.DB.IsPostgres() {
		read = gen.New(dbconn.SQLiteParams{DB: t})
	}
	chains, err := read.ListAuditChains(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the chains: %w", err)
	}
	all, err := read.ListAuditWorkspaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the workspaces: %w", err)
	}
	byWorkspace := map[flow.WorkspaceID]gen.AuditChain{}
	for _, c := range chains {
		byWorkspace[c.WorkspaceID] = c
		all = append(all, c.WorkspaceID)
	}
	slices.Sort(all)
	for _, one := range slices.Compact(all) {
		if ws != "" && one != ws {
			continue
		}
		c, found := byWorkspace[one]
		v := &auditVerifier{keys: s.DB.AuditKeys, chain: c, ws: one, result: flow.AuditChain{WorkspaceID: one}}
		if err := v.verify(ctx, read, found); err != nil {
			return nil, fmt.Errorf("read the audit log of %s: %w", one, err)
		}
		list = append(list, v.result)
	}
	return list, nil
}

// auditVerifier walks one chain.
type auditVerifier struct {
	keys   auditkeys.Keys
	chain  gen.AuditChain
	ws     flow.WorkspaceID
	result flow.AuditChain
	prev   gen.Audit // the previous entry
}

// verify reads the entries of one workspace in order and recomputes each HMAC. It stops
// at the first break, because nothing after it can be trusted.
func (v *auditVerifier) verify(ctx context.Context, read *gen.Queries, found bool) error {
	c := v.chain
	v.result.BeganAt, v.result.Adopted = dbconn.TimeOf(c.BeganAt), c.Adopted
	v.result.Pruned, v.result.PrunedAt, v.result.LastSeq = c.StartSeq, dbconn.TimeOf(c.PrunedAt), c.LastSeq
	v.prev = gen.Audit{Seq: c.StartSeq, Mac: c.StartMac}
	for v.result.Break == nil {
		rows, err := read.ListAuditChain(ctx, gen.ListAuditChainParams{WorkspaceID: v.ws, AfterSeq: v.prev.Seq, MaxRows: auditPage})
		if err != nil {
			return err
		}
		for _, r := range rows {
			if v.verifyEntry(r); v.result.Break != nil {
				break
			}
		}
		if len(rows) < auditPage {
			break
		}
	}
	if v.result.Break != nil {
		return nil
	}
	switch {
	case !found:
		v.recordBreak(0, "", "The record of where the chain starts and ends is missing.")
	case v.prev.Seq < c.LastSeq:
		v.recordMissing(c.LastSeq, " at the end")
	case !v.keys.Holds(c) || !hmac.Equal([]byte(v.prev.Mac), []byte(c.LastMac)) || c.KeyNo < v.keys.Newest():
		v.recordBreak(0, "", "The record of where the chain starts and ends was changed.")
	default:
		return v.verifyOutside(ctx, read)
	}
	return nil
}

// verifyEntry verifies the entry that follows prev.
func (v *auditVerifier) verifyEntry(r gen.Audit) {
	switch {
	case r.Seq > v.chain.LastSeq:
		v.recordBreak(r.Seq, r.ID, "This entry was added after the end of the chain.")
	case r.Seq == v.prev.Seq:
		v.recordBreak(r.Seq, r.ID, "Two entries have the number %d.", r.Seq)
	case r.Seq != v.prev.Seq+1:
		v.recordMissing(r.Seq-1, "")
	case r.KeyNo < v.prev.KeyNo || !hmac.Equal([]byte(v.keys.Entry(v.prev.Mac, r)), []byte(r.Mac)):
		v.recordBreak(r.Seq, r.ID, "This entry was changed, or the one before it.")
	default:
		v.result.Entries++
		v.prev = r
	}
}

// recordMissing reports the entries after prev up to last.
func (v *auditVerifier) recordMissing(last int64, where string) {
	first := v.prev.Seq + 1
	if first == last {
		v.recordBreak(first, "", "Entry %d is missing%s.", first, where)
		return
	}
	v.recordBreak(first, "", "Entries %d to %d are missing%s.", first, last, where)
}

// verifyOutside looks for entries outside of the chain: without a number, before its
// start, or with a duplicate number.
func (v *auditVerifier) verifyOutside(ctx context.Context, read *gen.Queries) error {
	rows, err := read.ListAuditUnchained(ctx, gen.ListAuditUnchainedParams{WorkspaceID: v.ws, MaxRows: 1})
	if err != nil {
		return err
	}
	if len(rows) > 0 {
		v.recordBreak(0, rows[0].ID, "This entry is not in the chain.")
		return nil
	}
	rows, err = read.ListAuditChain(ctx, gen.ListAuditChainParams{WorkspaceID: v.ws, MaxRows: 1})
	if err != nil {
		return err
	}
	if len(rows) > 0 && rows[0].Seq <= v.chain.StartSeq {
		v.recordBreak(rows[0].Seq, rows[0].ID, "This entry was added before the start of the chain.")
		return nil
	}
	n, err := read.CountAuditChain(ctx, gen.CountAuditChainParams{WorkspaceID: v.ws, AfterSeq: v.chain.StartSeq})
	if err == nil && n != v.result.Entries {
		v.recordBreak(0, "", "%d entries have a number that another entry has.", n-v.result.Entries)
	}
	return err
}

// recordBreak records the break. seq and id name the entry; both are zero if the chain as a whole
// is at fault.
func (v *auditVerifier) recordBreak(seq int64, id, format string, args ...any) {
	v.result.Break = &flow.AuditBreak{Seq: seq, ID: id, Reason: fmt.Sprintf(format, args...)}
}
