package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
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
func (s *core) openAudit(ctx context.Context) error {
	sealed, err := s.read.FindMeta(ctx, auditKey)
	if dbconn.IsNoRows(err) {
		if err := s.startAudit(ctx); err != nil {
			return fmt.Errorf("start the chain of the audit log: %w", err)
		}
		sealed, err = s.read.FindMeta(ctx, auditKey)
	}
	if err != nil {
		return fmt.Errorf("read the keys of the audit log: %w", err)
	}
	text, err := s.open(sealed, "meta", "audit", "key")
	if err != nil {
		return err
	}
	s.audit, err = parseAuditKeys(text)
	return err
}

// startAudit creates the first key and adopts older entries in one transaction,
// so that only one of several starting instances does it.
func (s *core) startAudit(ctx context.Context) error {
	key := newAuditKey()
	sealed, err := s.seal(key, "meta", "audit", "key")
	if err != nil {
		return err
	}
	return s.write(ctx, durable, func(tx *Tx) error {
		n, err := tx.InsertMeta(tx.ctx, gen.InsertMetaParams{Name: auditKey, Value: sealed})
		if err != nil || n == 0 {
			return err
		}
		list, err := tx.ListAuditWorkspaces(tx.ctx)
		for _, ws := range list {
			if err := tx.adoptAudit(auditKeys{key}, ws); err != nil {
				return fmt.Errorf("adopt the entries of %s: %w", ws, err)
			}
		}
		return err
	})
}

// auditPage is how many entries are read at once.
const auditPage = 500

// adoptAudit starts a workspace's chain with its existing entries.
func (tx *Tx) adoptAudit(keys auditKeys, ws string) error {
	c := gen.AuditChain{WorkspaceID: ws, BeganAt: tx.s.now(), KeyNo: keys.newest()}
	n, err := tx.InsertAuditChain(tx.ctx, gen.InsertAuditChainParams{WorkspaceID: ws, BeganAt: c.BeganAt, KeyNo: c.KeyNo})
	if err != nil || n == 0 { // a chain without its key stays broken
		return err
	}
	for after := ""; ; {
		rows, err := tx.ListAuditUnchained(tx.ctx, gen.ListAuditUnchainedParams{WorkspaceID: ws, AfterID: after, MaxRows: auditPage})
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			c.Adopted, c.LastSeq = c.Adopted+1, c.LastSeq+1
			r.Seq, r.KeyNo = c.LastSeq, c.KeyNo
			r.Mac = keys.entry(c.LastMac, *r)
			after, c.LastMac = r.ID, r.Mac
		}
		for chunk := range slices.Chunk(rows, auditChunk) {
			if err := tx.chainAudit(chunk); err != nil {
				return err
			}
		}
		if len(rows) < auditPage {
			return tx.saveAuditChain(keys, c)
		}
	}
}

// auditChunk bounds the entries of one statement.
const auditChunk = 100

// chainAudit stores the places of entries in their chain. One statement for
// many: an old log may have so many entries that PostgreSQL, asked about each of
// them, takes longer than a transaction may.
func (tx *Tx) chainAudit(rows []gen.Audit) error {
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
	_, err := tx.db.ExecContext(tx.ctx, "WITH placed(id, seq, mac, key_no) AS (VALUES "+values.String()+`)
		UPDATE audit SET seq = placed.seq, mac = placed.mac, key_no = placed.key_no FROM placed WHERE audit.id = placed.id`, args...)
	return err
}

func (tx *Tx) saveAuditChain(keys auditKeys, c gen.AuditChain) error {
	return tx.storeAuditChain(c, keys.chain(c))
}

func (tx *Tx) storeAuditChain(c gen.AuditChain, mac string) error {
	return tx.SaveAuditChain(tx.ctx, gen.SaveAuditChainParams{
		WorkspaceID: c.WorkspaceID, Adopted: c.Adopted, StartSeq: c.StartSeq, StartMac: c.StartMac, PrunedAt: c.PrunedAt,
		LastSeq: c.LastSeq, LastMac: c.LastMac, KeyNo: c.KeyNo, Mac: mac,
	})
}

// errAuditRotated refuses an entry from a process that does not have the newest
// key, because the master key was rotated after it started.
var errAuditRotated = errors.New("the master key was rotated after this process started; restart it")

// appendAudit adds an entry to its workspace's chain. The chain's row is locked
// until the transaction ends, so that instances append one after the other. A
// chain whose row was changed outside of Sluice is continued but not signed
// again, so that the change stays detectable.
func (tx *Tx) appendAudit(r gen.Audit) error {
	keys := tx.s.audit
	c, err := tx.holdAuditChain(r.WorkspaceID)
	if err != nil {
		return err
	}
	if c.KeyNo > keys.newest() {
		return errAuditRotated
	}
	was := c
	was.LastSeq--
	intact := keys.holds(was)
	r.Seq, r.KeyNo = c.LastSeq, keys.newest()
	r.Mac = keys.entry(c.LastMac, r)
	if err := tx.InsertAudit(tx.ctx, gen.InsertAuditParams(r)); err != nil {
		return err
	}
	c.LastMac, c.KeyNo = r.Mac, r.KeyNo
	if !intact {
		tx.s.cfg.Log.Error("the audit log of a workspace was changed outside of Sluice; 'sluice audit verify' shows where", "workspace", r.WorkspaceID)
		return tx.storeAuditChain(c, "")
	}
	return tx.saveAuditChain(keys, c)
}

// holdAuditChain locks a workspace's chain, starting it if there is none.
// LastSeq is the number of the next entry.
func (tx *Tx) holdAuditChain(ws string) (gen.AuditChain, error) {
	c, err := tx.HoldAuditChain(tx.ctx, ws)
	if !dbconn.IsNoRows(err) {
		return c, err
	}
	c = gen.AuditChain{WorkspaceID: ws, BeganAt: tx.s.now(), KeyNo: tx.s.audit.newest()}
	_, err = tx.InsertAuditChain(tx.ctx, gen.InsertAuditChainParams{WorkspaceID: ws, BeganAt: c.BeganAt, KeyNo: c.KeyNo, Mac: tx.s.audit.chain(c)})
	if err != nil {
		return c, err
	}
	return tx.HoldAuditChain(tx.ctx, ws)
}

// pruneAudit deletes about limit entries that are older than the retention and
// returns how many.
func (tx *Tx) pruneAudit(now time.Time, limit int) (deleted int, err error) {
	if tx.s.cfg.AuditRetention <= 0 {
		return 0, nil
	}
	cutoff := dbconn.Micros(now.Add(-tx.s.cfg.AuditRetention))
	due, err := tx.ListAuditDue(tx.ctx, gen.ListAuditDueParams{MadeBefore: cutoff, MaxRows: int32(limit)})
	for _, ws := range due {
		n, err := tx.pruneAuditOf(ws, cutoff, limit)
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
// changed is left as it is.
func (tx *Tx) pruneAuditOf(ws string, cutoff int64, limit int) (deleted int, err error) {
	keys := tx.s.audit
	c, err := tx.HoldAuditStart(tx.ctx, ws)
	if err != nil || !keys.holds(c) {
		return 0, err
	}
	rows, err := tx.ListAuditChain(tx.ctx, gen.ListAuditChainParams{WorkspaceID: ws, AfterSeq: c.StartSeq, MaxRows: int32(limit)})
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
	if err := tx.DeleteAudit(tx.ctx, gen.DeleteAuditParams{WorkspaceID: ws, UpToSeq: c.StartSeq}); err != nil {
		return 0, err
	}
	c.PrunedAt, c.KeyNo = tx.s.now(), keys.newest()
	return deleted, tx.saveAuditChain(keys, c)
}

// audit encrypts the keys of the chains with the new master key and adds a key,
// which signs the rows of intact chains.
func (to sealing) audit(tx *Tx) error {
	sealed, err := tx.FindMeta(tx.ctx, auditKey)
	if err != nil {
		return err
	}
	text, err := to.s.open(sealed, "meta", "audit", "key")
	if err != nil {
		return err
	}
	keys, err := parseAuditKeys(append(text, newAuditKey()...))
	if err != nil {
		return err
	}
	if sealed, err = to.aead.Encrypt(append(text, keys[len(keys)-1]...), associated("meta", "audit", "key")); err != nil {
		return fmt.Errorf("seal the keys of the audit log: %w", err)
	}
	if err := tx.SaveMeta(tx.ctx, gen.SaveMetaParams{Name: auditKey, Value: sealed}); err != nil {
		return err
	}
	chains, err := tx.ListAuditChains(tx.ctx)
	for _, c := range chains {
		if !keys.holds(c) {
			continue
		}
		c.KeyNo = keys.newest()
		if err := tx.saveAuditChain(keys, c); err != nil {
			return err
		}
	}
	return err
}
