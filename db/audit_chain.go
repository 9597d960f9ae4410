package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/db/auditkeys"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// The audit log of a workspace is a chain: each entry carries an HMAC over its
// own content and the HMAC of the entry before it, so changing, inserting,
// reordering or deleting an entry breaks every HMAC after it. The row in
// audit_chains authenticates where the chain starts and ends, so that deleting
// the first or the last entries is found too. These HMACs cannot be computed
// without the master key.

// auditKey is the row of meta that holds the keys of the chains, encrypted with
// the master key.
const auditKey = "audit_key"

// openAudit reads the keys of the chains. The first time, it creates a key and
// adds the existing entries to chains.
func openAudit(ctx context.Context, s *core.DB) error {
	sealed, err := s.Reads.FindMeta(ctx, auditKey)
	if dbconn.IsNoRows(err) {
		if err := startAudit(ctx, s); err != nil {
			return fmt.Errorf("start the chain of the audit log: %w", err)
		}
		sealed, err = s.Reads.FindMeta(ctx, auditKey)
	}
	if err != nil {
		return fmt.Errorf("read the keys of the audit log: %w", err)
	}
	text, err := s.Unseal(sealed, "meta", "audit", "key")
	if err != nil {
		return err
	}
	s.AuditKeys, err = auditkeys.Parse(text)
	return err
}

// startAudit creates the first key and adopts older entries in one transaction,
// so that only one of several starting instances does it.
func startAudit(ctx context.Context, s *core.DB) error {
	key := auditkeys.New()
	sealed, err := s.Seal(key, "meta", "audit", "key")
	if err != nil {
		return err
	}
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		n, err := tx.Queries.InsertMeta(tx.Ctx, gen.InsertMetaParams{Name: auditKey, Value: sealed})
		if err != nil || n == 0 {
			return err
		}
		list, err := tx.Queries.ListAuditWorkspaces(tx.Ctx)
		for _, ws := range list {
			if err := adoptAudit(tx, auditkeys.Keys{key}, ws); err != nil {
				return fmt.Errorf("adopt the entries of %s: %w", ws, err)
			}
		}
		return err
	})
}

// auditPage is the number of entries that are read at once.
const auditPage = 500

// adoptAudit starts a workspace's chain with its existing entries.
func adoptAudit(tx *core.Tx, keys auditkeys.Keys, ws flow.WorkspaceID) error {
	c := gen.AuditChain{WorkspaceID: ws, BeganAt: tx.Store.NowMicros(), KeyNo: keys.Newest()}
	n, err := tx.Queries.InsertAuditChain(tx.Ctx, gen.InsertAuditChainParams{WorkspaceID: ws, BeganAt: c.BeganAt, KeyNo: c.KeyNo})
	if err != nil || n == 0 { // a chain without its key stays broken
		return err
	}
	for after := ""; ; {
		rows, err := tx.Queries.ListAuditUnchained(tx.Ctx, gen.ListAuditUnchainedParams{WorkspaceID: ws, AfterID: after, MaxRows: auditPage})
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			c.Adopted, c.LastSeq = c.Adopted+1, c.LastSeq+1
			r.Seq, r.KeyNo = c.LastSeq, c.KeyNo
			r.Mac = keys.Entry(c.LastMac, *r)
			after, c.LastMac = r.ID, r.Mac
		}
		for chunk := range slices.Chunk(rows, auditChunk) {
			if err := chainAudit(tx, chunk); err != nil {
				return err
			}
		}
		if len(rows) < auditPage {
			return saveAuditChain(tx, keys, c)
		}
	}
}

// auditChunk bounds the entries of one statement.
const auditChunk = 100

// chainAudit stores the positions of entries in their chain. It uses one statement
// for many entries, because one statement per entry of a large log could exceed
// the time limit of a transaction on PostgreSQL.
func chainAudit(tx *core.Tx, rows []gen.Audit) error {
	var values strings.Builder
	args := make([]any, 0, 4*len(rows))
	for _, r := range rows {
		if len(args) > 0 {
			values.WriteString(", ")
		}
		n := len(args)
		fmt.Fprintf(&values, "(CAST($%d AS TEXT), CAST($%d AS BIGINT), CAST($%d AS TEXT), CAST($%d AS BIGINT))", n+1, n+2, n+3, n+4)
		args = append(args, r.ID, r.Seq, r.Mac, r.KeyNo)
	}
	_, err := tx.DBTX.ExecContext(tx.Ctx, "WITH placed(id, seq, mac, key_no) AS (VALUES "+values.String()+`)
		UPDATE audit SET seq = placed.seq, mac = placed.mac, key_no = placed.key_no FROM placed WHERE audit.id = placed.id`, args...)
	return err
}

// saveAuditChain signs and stores the row of a chain.
func saveAuditChain(tx *core.Tx, keys auditkeys.Keys, c gen.AuditChain) error {
	return storeAuditChain(tx, c, keys.Chain(c))
}

func storeAuditChain(tx *core.Tx, c gen.AuditChain, mac string) error {
	return tx.Queries.SaveAuditChain(tx.Ctx, gen.SaveAuditChainParams{
		WorkspaceID: c.WorkspaceID, Adopted: c.Adopted, StartSeq: c.StartSeq, StartMac: c.StartMac, PrunedAt: c.PrunedAt,
		LastSeq: c.LastSeq, LastMac: c.LastMac, KeyNo: c.KeyNo, Mac: mac,
	})
}

// errAuditRotated is returned in a process that does not have the newest key,
// because the master key was rotated after the process started.
var errAuditRotated = errors.New("the master key was rotated after this process started; restart it")

// appendAudit adds an entry to its workspace's chain. The chain's row is locked
// until the transaction ends, so that instances append one after the other. A
// chain whose row was changed outside of Sluice is continued but not signed
// again, so that the change stays detectable.
func appendAudit(tx *core.Tx, r gen.Audit) error {
	keys := tx.Store.AuditKeys
	c, err := holdAuditChain(tx, r.WorkspaceID)
	if err != nil {
		return err
	}
	if c.KeyNo > keys.Newest() {
		return errAuditRotated
	}
	signed := c
	signed.LastSeq--
	intact := keys.Holds(signed)
	r.Seq, r.KeyNo = c.LastSeq, keys.Newest()
	r.Mac = keys.Entry(c.LastMac, r)
	if err := tx.Queries.InsertAudit(tx.Ctx, gen.InsertAuditParams(r)); err != nil {
		return err
	}
	if tx.Store.Config.Audited != nil {
		tx.Batch.Audit = append(tx.Batch.Audit, recordOf(r))
	}
	c.LastMac, c.KeyNo = r.Mac, r.KeyNo
	if !intact {
		tx.Store.Config.Log.Error("the audit log of a workspace was changed outside of Sluice; 'sluice audit verify' shows where", "workspace", r.WorkspaceID)
		return storeAuditChain(tx, c, "")
	}
	return saveAuditChain(tx, keys, c)
}

// holdAuditChain locks a workspace's chain, creating it if necessary.
// LastSeq is the number of the next entry.
func holdAuditChain(tx *core.Tx, ws flow.WorkspaceID) (gen.AuditChain, error) {
	c, err := tx.Queries.HoldAuditChain(tx.Ctx, ws)
	if !dbconn.IsNoRows(err) {
		return c, err
	}
	c = gen.AuditChain{WorkspaceID: ws, BeganAt: tx.Store.NowMicros(), KeyNo: tx.Store.AuditKeys.Newest()}
	_, err = tx.Queries.InsertAuditChain(tx.Ctx, gen.InsertAuditChainParams{WorkspaceID: ws, BeganAt: c.BeganAt, KeyNo: c.KeyNo, Mac: tx.Store.AuditKeys.Chain(c)})
	if err != nil {
		return c, err
	}
	return tx.Queries.HoldAuditChain(tx.Ctx, ws)
}

// pruneAudit deletes about limit entries that are older than the retention and
// returns how many.
func pruneAudit(tx *core.Tx, now time.Time, limit int) (deleted int, err error) {
	if tx.Store.Config.AuditRetention <= 0 {
		return 0, nil
	}
	cutoff := dbconn.Micros(now.Add(-tx.Store.Config.AuditRetention))
	due, err := tx.Queries.ListAuditDue(tx.Ctx, gen.ListAuditDueParams{MadeBefore: cutoff, MaxRows: int32(limit)})
	for _, ws := range due {
		n, err := pruneAuditOf(tx, ws, cutoff, limit)
		if err != nil {
			return 0, fmt.Errorf("delete old entries of %s: %w", ws, err)
		}
		if deleted += n; deleted >= limit {
			break
		}
	}
	return deleted, err
}

// pruneAuditOf moves the start of a chain past its old entries. The signed start
// is the checkpoint that the rest is verified from. A chain whose row was
// changed outside of Sluice is not modified.
func pruneAuditOf(tx *core.Tx, ws flow.WorkspaceID, cutoff int64, limit int) (deleted int, err error) {
	keys := tx.Store.AuditKeys
	c, err := tx.Queries.HoldAuditStart(tx.Ctx, ws)
	if err != nil || !keys.Holds(c) {
		return 0, err
	}
	rows, err := tx.Queries.ListAuditChain(tx.Ctx, gen.ListAuditChainParams{WorkspaceID: ws, AfterSeq: c.StartSeq, MaxRows: int32(limit)})
	if err != nil {
		return 0, err
	}
	for _, r := range rows {
		if r.CreatedAt >= cutoff || r.Seq != c.StartSeq+1 {
			break
		}
		c.StartSeq, c.StartMac = r.Seq, r.Mac
		deleted++
	}
	if err := tx.Queries.DeleteAudit(tx.Ctx, gen.DeleteAuditParams{WorkspaceID: ws, UpToSeq: c.StartSeq}); err != nil {
		return 0, err
	}
	c.PrunedAt, c.KeyNo = tx.Store.NowMicros(), keys.Newest()
	return deleted, saveAuditChain(tx, keys, c)
}

// reencryptAudit encrypts the keys of the chains with the new master key and adds a key,
// which signs the rows of intact chains.
func (to reencryption) reencryptAudit(tx *core.Tx) error {
	sealed, err := tx.Queries.FindMeta(tx.Ctx, auditKey)
	if err != nil {
		return err
	}
	text, err := to.s.Unseal(sealed, "meta", "audit", "key")
	if err != nil {
		return err
	}
	keys, err := auditkeys.Parse(append(text, auditkeys.New()...))
	if err != nil {
		return err
	}
	if sealed, err = to.aead.Encrypt(append(text, keys[len(keys)-1]...), core.Associated("meta", "audit", "key")); err != nil {
		return fmt.Errorf("seal the keys of the audit log: %w", err)
	}
	if err := tx.Queries.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: auditKey, Value: sealed}); err != nil {
		return err
	}
	chains, err := tx.Queries.ListAuditChains(tx.Ctx)
	for _, c := range chains {
		if !keys.Holds(c) {
			continue
		}
		c.KeyNo = keys.Newest()
		if err := saveAuditChain(tx, keys, c); err != nil {
			return err
		}
	}
	return err
}
