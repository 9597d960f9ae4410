package core

import (
	"context"

	"sluice/db/gen"
)

// joinedTx is a transaction that writes join by their context.
type joinedTx struct {
	s     *DB
	tx    *Tx
	after []func() // called after the commit
}

// joinedKey is the context key for the transaction that nested writes join.
type joinedKey struct{}

// InTransaction runs all writes that fn makes with its context in one transaction. fn
// may run more than once. Reads in fn do not see its writes, except those with In. A context that belongs to a transaction
// makes fn a part of that.
func (s *DB) InTransaction(ctx context.Context, fn func(ctx context.Context) error) error {
	if s.joinedWith(ctx) != nil {
		return fn(ctx)
	}
	var j *joinedTx
	err := s.Write(ctx, Durable, func(tx *Tx) error {
		j = &joinedTx{s: s, tx: tx}
		return fn(context.WithValue(tx.Ctx, joinedKey{}, j))
	})
	if err != nil {
		return err
	}
	for _, f := range j.after {
		f()
	}
	return nil
}

// joinedWith returns the transaction that a context belongs to, or nil.
func (s *DB) joinedWith(ctx context.Context) *joinedTx {
	j, _ := ctx.Value(joinedKey{}).(*joinedTx)
	if j == nil || j.s != s {
		return nil
	}
	return j
}

// AfterCommit runs f after the transaction that ctx belongs to has committed, or
// immediately if ctx belongs to none.
func (s *DB) AfterCommit(ctx context.Context, f func()) {
	if j := s.joinedWith(ctx); j != nil {
		j.after = append(j.after, f)
		return
	}
	f()
}

// In returns the queries of the transaction that ctx belongs to, which see its writes, or Reads if it belongs to none.
func (s *DB) In(ctx context.Context) *gen.Queries {
	if j := s.joinedWith(ctx); j != nil {
		return j.tx.Queries
	}
	return s.Reads
}
