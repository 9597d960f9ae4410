package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/webhooks"
	"sluice/flow"
	"sluice/flow/sorting"
)

// A key is stored as the SHA-256 of its secret; the secret itself is shown once and
// never stored. Secrets are random and long, so a fast hash without salt is enough.
// After a rotation the key also has the hash of its previous secret, which stays
// valid until a time. Transactions that change keys set Batch.KeysChanged, so that
// the cache of RecentKey is dropped after the commit.

// CreateKey adds a key. It sets an empty ID and time. If another key creates it, that key
// must not have been revoked in the meantime, nor have reached its limit of keys.
func (s *Keys) CreateKey(ctx context.Context, k *flow.Key) error {
	if k.ID == "" {
		k.ID = s.DB.IDs().New(flow.PrefixKey)
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = dbconn.TimeOf(s.DB.NowMicros())
	}
	secret, err := (&webhooks.WebhookSecrets{DB: s.DB}).NewKeySecret(k.WorkspaceID, k.ID)
	if err != nil {
		return err
	}
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if err := holdMaker(tx, k); err != nil {
			return err
		}
		n, err := tx.Queries.InsertKey(tx.Ctx, gen.InsertKeyParams{
			ID: k.ID, WorkspaceID: k.WorkspaceID, Name: dbconn.ValidText(k.Name), Prefix: k.Prefix, Hash: k.Hash,
			Scopes: dbconn.EncodeList(k.Scopes), Flows: dbconn.EncodeList(k.Flows), Rpm: k.RPM, Concurrency: k.Concurrency, UsdPerDay: k.USDPerDay, RunsPerDay: k.RunsPerDay, AllowUnpriced: dbconn.BoolInt(k.AllowUnpriced),
			RunTrigger: string(k.Trigger), CreatedBy: k.CreatedBy, CreatedAt: dbconn.Micros(k.CreatedAt), ExpiresAt: dbconn.Micros(k.ExpiresAt), WebhookSecret: secret,
		})
		if err == nil && n == 0 {
			err = flow.ErrKeyTaken
		}
		return err
	})
}

// holdMaker locks the key that creates another, so that a concurrent RevokeMadeKeys also
// finds the new key.
func holdMaker(tx *core.Tx, k *flow.Key) error {
	maker := k.Maker()
	if maker == "" {
		return nil
	}
	n, err := tx.Queries.HoldKey(tx.Ctx, gen.HoldKeyParams{ID: maker, WorkspaceID: k.WorkspaceID})
	if err == nil && n == 0 {
		return flow.Errorf(flow.CodeKeyRevoked, "This key was revoked.")
	}
	if err == nil {
		n, err = tx.Queries.CountKeysBy(tx.Ctx, gen.CountKeysByParams{WorkspaceID: k.WorkspaceID, CreatedBy: maker})
	}
	if err != nil {
		return fmt.Errorf("hold %s, which makes a key: %w", maker, err)
	}
	return flow.CheckMadeKeys(n)
}

// FindKeyByHash returns the key with the hash of a secret, which may be the current
// or the previous one, with its makers. The key may be expired or revoked.
func (s *Keys) FindKeyByHash(ctx context.Context, hash string) (*flow.Key, error) {
	r, err := s.DB.Reads.FindKeyByHash(ctx, hash)
	if dbconn.IsNoRows(err) {
		r, err = s.DB.Reads.FindKeyByPreviousHash(ctx, hash)
	}
	if err != nil {
		return nil, dbconn.NotFoundErr(err, "key")
	}
	k := core.KeyOf(r)
	k.Presented = hash
	k.Makers, err = core.MakersOf(ctx, s.DB.Reads, k.WorkspaceID, &k)
	return &k, err
}

// FindKey returns a key of a workspace with its makers.
func (s *Keys) FindKey(ctx context.Context, ws flow.WorkspaceID, id string) (*flow.Key, error) {
	r, err := s.DB.Reads.FindKey(ctx, gen.FindKeyParams{ID: id, WorkspaceID: ws})
	k, err := dbconn.ConvertRow(r, err, "key", core.KeyOf)
	if err == nil {
		k.Makers, err = core.MakersOf(ctx, s.DB.Reads, ws, k)
	}
	return k, err
}

// ListKeys returns all keys of a workspace, by ID.
func (s *Keys) ListKeys(ctx context.Context, ws flow.WorkspaceID) ([]flow.Key, error) {
	rows, err := s.DB.Reads.ListKeys(ctx, ws)
	return dbconn.ConvertRows(rows, err, core.KeyOf, "list keys")
}

// ListKeysBefore returns the keys of a workspace before an ID, newest first. An empty ID
// starts at the newest.
func (s *Keys) ListKeysBefore(ctx context.Context, ws flow.WorkspaceID, beforeID string, limit int) ([]flow.Key, error) {
	rows, err := s.DB.Reads.ListKeysBefore(ctx, gen.ListKeysBeforeParams{WorkspaceID: ws, BeforeID: dbconn.CursorOrEnd(beforeID), MaxRows: int32(limit)})
	return dbconn.ConvertRows(rows, err, core.KeyOf, "list keys")
}

// ListKeyTree returns the ID of a key and those of the keys that it made, directly or
// through others.
func (s *Keys) ListKeyTree(ctx context.Context, ws flow.WorkspaceID, id string) ([]string, error) {
	return s.DB.Reads.ListKeyTree(ctx, gen.ListKeyTreeParams{KeyID: id, WorkspaceID: ws})
}

// RevokeMadeKeys revokes the keys that a key has made, directly or through others, and
// returns them. The key itself must be revoked before, in the same transaction, so that
// it makes no further ones.
func (s *Keys) RevokeMadeKeys(ctx context.Context, ws flow.WorkspaceID, id string) (made []flow.Key, err error) {
	err = s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		made, err = revokeMade(tx, ws, id)
		return err
	})
	return made, err
}

// revokeMade revokes what a key or a person has made and returns the keys that still
// worked. It continues below revoked keys, level by level: a key is locked before the
// keys are read that it has made.
func revokeMade(tx *core.Tx, ws flow.WorkspaceID, maker string) (revoked []flow.Key, err error) {
	tx.Batch.KeysChanged = true
	for makers := []string{maker}; len(makers) > 0; makers = makers[1:] {
		rows, err := tx.Queries.ListKeysMadeBy(tx.Ctx, gen.ListKeysMadeByParams{WorkspaceID: ws, Maker: makers[0]})
		if err != nil {
			return nil, fmt.Errorf("list the keys that %s made: %w", makers[0], err)
		}
		for i := range rows {
			makers = append(makers, rows[i].ID)
			if rows[i].RevokedAt != 0 {
				continue
			}
			if _, err := tx.Queries.RevokeKey(tx.Ctx, gen.RevokeKeyParams{ID: rows[i].ID, WorkspaceID: ws, RevokedAt: tx.Store.NowMicros()}); err != nil {
				return nil, fmt.Errorf("revoke %s: %w", rows[i].ID, err)
			}
			revoked = append(revoked, core.KeyOf(rows[i]))
		}
	}
	return revoked, nil
}

// RevokeKey revokes a key immediately. Revoking it again changes nothing.
func (s *Keys) RevokeKey(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Update(ctx, "key", func(tx *core.Tx) (int64, error) {
		tx.Batch.KeysChanged = true
		return tx.Queries.RevokeKey(tx.Ctx, gen.RevokeKeyParams{ID: id, WorkspaceID: ws, RevokedAt: s.DB.NowMicros()})
	})
}

// UpdateKey writes a key's name, flows, limits and expiry. A revoked key stays
// revoked. It returns ErrKeyOutdated if the key has changed since before was
// read.
func (s *Keys) UpdateKey(ctx context.Context, before, k *flow.Key) error {
	return s.DB.Write(ctx, core.Durable, func(tx *core.Tx) error {
		tx.Batch.KeysChanged = true
		if _, err := tx.Queries.HoldKey(tx.Ctx, gen.HoldKeyParams{ID: k.ID, WorkspaceID: k.WorkspaceID}); err != nil {
			return err
		}
		row, err := tx.Queries.FindKey(tx.Ctx, gen.FindKeyParams{ID: k.ID, WorkspaceID: k.WorkspaceID})
		if err != nil {
			return dbconn.NotFoundErr(err, "key")
		}
		if now := core.KeyOf(row); now.Name != before.Name || !now.SameAccess(before) {
			return flow.ErrKeyOutdated
		}
		n, err := tx.Queries.UpdateKey(tx.Ctx, gen.UpdateKeyParams{
			ID: k.ID, WorkspaceID: k.WorkspaceID, Name: dbconn.ValidText(k.Name), Flows: dbconn.EncodeList(k.Flows), Rpm: k.RPM, Concurrency: k.Concurrency,
			UsdPerDay: k.USDPerDay, RunsPerDay: k.RunsPerDay, AllowUnpriced: dbconn.BoolInt(k.AllowUnpriced), ExpiresAt: dbconn.Micros(k.ExpiresAt),
		})
		if err := dbconn.MustAffect(n, err, "key"); err != nil {
			return err
		}
		return countStarts(tx, k.WorkspaceID, k.ID, before.RunsPerDay, k.RunsPerDay)
	})
}

// RotateKey replaces the secret of a key, which becomes the previous one. If the
// current secret does not have the prefix in k.Previous, because it was rotated
// in the meantime, RotateKey returns CodeNotFound.
func (s *Keys) RotateKey(ctx context.Context, k *flow.Key) error {
	return s.DB.Update(ctx, "key", func(tx *core.Tx) (int64, error) {
		tx.Batch.KeysChanged = true
		return tx.Queries.RotateKey(tx.Ctx, gen.RotateKeyParams{
			ID: k.ID, WorkspaceID: k.WorkspaceID, OldPrefix: k.Previous.Prefix, PreviousUntil: dbconn.Micros(k.Previous.Until),
			NewPrefix: k.Prefix, NewHash: k.Hash, RolledAt: dbconn.Micros(k.RotatedAt), ExpiresAt: dbconn.Micros(k.ExpiresAt),
			RotatedBy: dbconn.EncodeList(k.RotatedBy),
		})
	})
}

// RevokePreviousSecret ends the previous secret of a key immediately.
func (s *Keys) RevokePreviousSecret(ctx context.Context, ws flow.WorkspaceID, id string) error {
	return s.DB.Update(ctx, "key", func(tx *core.Tx) (int64, error) {
		tx.Batch.KeysChanged = true
		return tx.Queries.RevokePreviousSecret(tx.Ctx, gen.RevokePreviousSecretParams{ID: id, WorkspaceID: ws, EndedAt: s.DB.NowMicros()})
	})
}

// ListKeysEnding returns the keys of all workspaces that expire between two times,
// ordered by expiry.
func (s *Keys) ListKeysEnding(ctx context.Context, after, until time.Time) ([]flow.Key, error) {
	rows, err := s.DB.Reads.ListKeysEnding(ctx, gen.ListKeysEndingParams{After: dbconn.Micros(after), Until: dbconn.Micros(until)})
	return dbconn.ConvertRows(rows, err, core.KeyOf, "list expiring keys")
}

// ListKeyMakers returns the creators of the keys of a workspace, by user ID,
// including users who are no longer members.
func (s *Keys) ListKeyMakers(ctx context.Context, ws flow.WorkspaceID) (map[string]flow.KeyMaker, error) {
	rows, err := s.DB.Reads.ListKeyMakers(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("list the creators of keys: %w", err)
	}
	makers := map[string]flow.KeyMaker{}
	for _, r := range rows {
		makers[r.ID] = flow.KeyMaker{Name: r.Name, Member: r.Member}
	}
	return makers, nil
}

// TouchKeys records the use of keys. It is not synced to disk.
func (s *Keys) TouchKeys(ctx context.Context, uses []flow.KeyUse) error {
	if len(uses) == 0 {
		return nil
	}
	// A fixed order avoids deadlocks.
	uses = slices.Clone(uses)
	sorting.By(uses, func(a, b flow.KeyUse) int { return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), a.At.Compare(b.At)) })
	return s.DB.Write(ctx, core.Relaxed, func(tx *core.Tx) error {
		for _, u := range uses {
			err := tx.Queries.TouchKey(tx.Ctx, gen.TouchKeyParams{ID: u.KeyID, Uses: u.Count, LastUsedAt: dbconn.Micros(u.At), LastUsedIp: dbconn.ValidText(u.IP)})
			if err != nil {
				return fmt.Errorf("touch %s: %w", u.KeyID, err)
			}
			if u.Previous == "" {
				continue
			}
			err = tx.Queries.TouchPreviousKeyText(tx.Ctx, gen.TouchPreviousKeyTextParams{ID: u.KeyID, Hash: u.Previous, Uses: u.Count, UsedAt: dbconn.Micros(u.At), UsedIp: dbconn.ValidText(u.IP)})
			if err != nil {
				return fmt.Errorf("touch the previous secret of %s: %w", u.KeyID, err)
			}
		}
		return nil
	})
}

// RecentKey is FindKeyByHash with a cache, for starts of runs. Key.Recent is set if
// the key comes from the cache and may have changed since it was read. Keys that another
// key made are not cached, because their makers may change too.
func (s *Keys) RecentKey(ctx context.Context, hash string) (*flow.Key, error) {
	if k, ok := s.DB.Recent.Keys.Get(hash); ok {
		cached := *k
		cached.Recent = true
		return &cached, nil
	}
	k, err := s.FindKeyByHash(ctx, hash)
	if err == nil && k.Maker() == "" {
		cached := *k
		s.DB.Recent.Keys.Add(hash, &cached)
	}
	return k, err
}

// maxKeyHolders bounds the keys that related follows for each of the two keys.
const maxKeyHolders = 1000

// startedBy reports whether key may be in the same hands as what started a run: its key, or the keys that changed the trigger of
// the run or of a run that called it.
func startedBy(tx *core.Tx, ws flow.WorkspaceID, runID flow.RunID, runKey, key string) (bool, error) {
	starters, err := tx.Queries.ListTriggerKeys(tx.Ctx, gen.ListTriggerKeysParams{RunID: runID, WorkspaceID: ws})
	if err != nil {
		return false, fmt.Errorf("find the keys of the trigger of %s: %w", runID, err)
	}
	for _, starter := range append(starters, runKey) {
		if is, err := related(tx, ws, starter, key); is || err != nil {
			return is, err
		}
	}
	return false, nil
}

// related reports whether two keys may be in the same hands: one of them made or rotated the
// other, directly or through other keys, or the same key did that to both. It is true if that
// takes too many reads to find out. An ID that is not of a key, such as "", is related to nothing.
func related(tx *core.Tx, ws flow.WorkspaceID, a, b string) (bool, error) {
	if !strings.HasPrefix(a, flow.PrefixKey) || !strings.HasPrefix(b, flow.PrefixKey) {
		return false, nil
	}
	ofA, err := holdersOf(tx, ws, a)
	if err != nil {
		return false, err
	}
	ofB, err := holdersOf(tx, ws, b)
	if err != nil {
		return false, err
	}
	tooMany := len(ofA) > maxKeyHolders || len(ofB) > maxKeyHolders
	return tooMany || slices.ContainsFunc(ofB, func(id string) bool { return slices.Contains(ofA, id) }), nil
}

// holdersOf returns a key and the keys that made or rotated it, directly or through others. It
// stops after maxKeyHolders.
func holdersOf(tx *core.Tx, ws flow.WorkspaceID, id string) ([]string, error) {
	list := []string{id}
	for i := 0; i < len(list) && len(list) <= maxKeyHolders; i++ {
		r, err := tx.Queries.FindKeyHolders(tx.Ctx, gen.FindKeyHoldersParams{ID: list[i], WorkspaceID: ws})
		if dbconn.IsNoRows(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find the keys that made or rotated %s: %w", list[i], err)
		}
		for _, holder := range append(dbconn.DecodeList[string](r.RotatedBy), r.CreatedBy) {
			if strings.HasPrefix(holder, flow.PrefixKey) && !slices.Contains(list, holder) {
				list = append(list, holder)
			}
		}
	}
	return list, nil
}
