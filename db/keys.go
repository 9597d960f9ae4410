package db

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sluice/db/gen"
	"sluice/flow"
)

// CreateKey adds a key. Empty ID and time are filled in.
func (s *Store) CreateKey(ctx context.Context, k *flow.Key) error {
	if k.ID == "" {
		k.ID = s.ids.New(flow.PrefixKey)
	}
	if k.CreatedAt.IsZero() {
		k.CreatedAt = timeOf(s.now())
	}
	return s.write(ctx, durable, func(tx *Tx) error {
		return tx.InsertKey(tx.ctx, gen.InsertKeyParams{
			ID: k.ID, WorkspaceID: k.WorkspaceID, Name: clean(k.Name), Prefix: k.Prefix, Hash: k.Hash,
			Scopes: encodeList(k.Scopes), Flows: encodeList(k.Flows), Rpm: k.RPM, Concurrency: k.Concurrency, UsdPerDay: k.USDPerDay, RunsPerDay: k.RunsPerDay,
			RunTrigger: string(k.Trigger), CreatedBy: k.CreatedBy, CreatedAt: micros(k.CreatedAt), ExpiresAt: micros(k.ExpiresAt),
		})
	})
}

// FindKeyByHash returns the key of a hash, expired or revoked ones too.
func (s *Store) FindKeyByHash(ctx context.Context, hash string) (*flow.Key, error) {
	r, err := s.read.FindKeyByHash(ctx, hash)
	if err != nil {
		return nil, missing(err, "key")
	}
	k := keyOf(r)
	return &k, nil
}

// FindKey returns a key of a workspace.
func (s *Store) FindKey(ctx context.Context, ws, id string) (*flow.Key, error) {
	r, err := s.read.FindKey(ctx, gen.FindKeyParams{ID: id, WorkspaceID: ws})
	if err != nil {
		return nil, missing(err, "key")
	}
	k := keyOf(r)
	return &k, nil
}

// ListKeys returns all keys of a workspace, by ID.
func (s *Store) ListKeys(ctx context.Context, ws string) ([]flow.Key, error) {
	rows, err := s.read.ListKeys(ctx, ws)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	return mapRows(rows, keyOf), nil
}

// RevokeKey stops a key at once. Revoking it again changes nothing.
func (s *Store) RevokeKey(ctx context.Context, ws, id string) error {
	return s.write(ctx, durable, func(tx *Tx) error {
		n, err := tx.RevokeKey(tx.ctx, gen.RevokeKeyParams{ID: id, WorkspaceID: ws, RevokedAt: s.now()})
		return touched(n, err, "key")
	})
}

// TouchKeys records the use of keys. It is not synced to disk.
func (s *Store) TouchKeys(ctx context.Context, uses []flow.KeyUse) error {
	if len(uses) == 0 {
		return nil
	}
	// In one order everywhere, so that transactions cannot wait in a circle.
	uses = slices.Clone(uses)
	slices.SortFunc(uses, func(a, b flow.KeyUse) int { return cmp.Compare(a.KeyID, b.KeyID) })
	return s.write(ctx, relaxed, func(tx *Tx) error {
		for _, u := range uses {
			err := tx.TouchKey(tx.ctx, gen.TouchKeyParams{ID: u.KeyID, Uses: u.Count, LastUsedAt: micros(u.At), LastUsedIp: clean(u.IP)})
			if err != nil {
				return fmt.Errorf("touch %s: %w", u.KeyID, err)
			}
		}
		return nil
	})
}

func keyOf(r gen.Key) flow.Key {
	return flow.Key{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, Prefix: r.Prefix, Hash: r.Hash,
		Scopes: decodeList[flow.Scope](r.Scopes), Flows: decodeList[string](r.Flows),
		RPM: r.Rpm, Concurrency: r.Concurrency, USDPerDay: r.UsdPerDay, RunsPerDay: r.RunsPerDay, Trigger: flow.Trigger(r.RunTrigger),
		CreatedBy: r.CreatedBy, CreatedAt: timeOf(r.CreatedAt), ExpiresAt: timeOf(r.ExpiresAt), RevokedAt: timeOf(r.RevokedAt),
		LastUsedAt: timeOf(r.LastUsedAt), LastUsedIP: r.LastUsedIp, Uses: r.Uses,
	}
}
