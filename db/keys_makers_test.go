package db_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/audit"
	"sluice/flow/library"
)

// madeKey creates a key, by another key or, for nil, by a person. It returns the key as a
// caller who presents it has it.
func (w *fixture) madeKey(maker *flow.Key, k flow.Key) *flow.Key {
	w.t.Helper()
	ring, by := w.keyring(), ada
	if ring.Caller = maker; maker != nil {
		by = flow.Actor{ID: maker.ID}
	}
	k.WorkspaceID, k.Name, k.Scopes = ws, "made", []flow.Scope{flow.ScopeRun, flow.ScopeAdmin}
	text, err := ring.Create(w.ctx, by, &k)
	w.must(err)
	return w.presented(text)
}

func (w *fixture) presented(text string) *flow.Key {
	w.t.Helper()
	k, err := w.FindKeyByHash(w.ctx, flow.Hash([]byte(text)))
	w.must(err)
	return k
}

func with(k *flow.Key) func(*flow.NewRun) {
	return func(n *flow.NewRun) { n.Run.KeyID, n.Key = k.ID, k }
}

// TestMadeKeys_count_against_their_makers starts runs with keys two levels below one with
// limits. None of its limits can be exceeded with keys that it made.
func TestMadeKeys_count_against_their_makers(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		t.Run("runs per day", func(t *testing.T) {
			top := w.madeKey(nil, flow.Key{RunsPerDay: 4})
			middle := w.madeKey(top, flow.Key{RunsPerDay: 4})
			low, other := w.madeKey(middle, flow.Key{RunsPerDay: 3}), w.madeKey(middle, flow.Key{RunsPerDay: 4})
			wantEqual(t, "makers", len(low.Makers), 2)
			w.start(with(top))
			w.start(with(low))
			w.start(with(middle))
			w.start(with(other))
			for _, k := range []*flow.Key{low, other, middle, top} {
				_, err := w.tryStart(with(k))
				wantBudget(t, err, flow.Budget{KeyID: top.ID, Name: "made", Unit: flow.BudgetRuns, Limit: 4, Used: 4})
			}
			list, err := w.KeyBudgets(w.ctx, top)
			w.must(err)
			wantEqual(t, "used", list[0].Used, 4)
			w.clock.move(24 * time.Hour)
			w.start(with(low))
		})
		t.Run("a later limit counts earlier runs", func(t *testing.T) {
			top := w.madeKey(nil, flow.Key{})
			low := w.madeKey(top, flow.Key{})
			w.start(with(low))
			w.start(with(low))
			changed := *top
			changed.RunsPerDay = 2
			w.must(w.updateKey(&changed))
			_, err := w.tryStart(with(w.reread(low)))
			wantCode(t, err, flow.CodeBudgetExceeded)
		})
		t.Run("concurrency", func(t *testing.T) {
			top := w.madeKey(nil, flow.Key{Concurrency: 2})
			low, other := w.madeKey(top, flow.Key{Concurrency: 2}), w.madeKey(top, flow.Key{Concurrency: 1})
			r := w.take(w.start(with(low)).ID)
			w.start(with(other))
			for _, k := range []*flow.Key{low, top} {
				_, err := w.tryStart(with(k))
				wantCode(t, err, flow.CodeConcurrencyLimited)
			}
			w.must(w.finish(r, flow.RunSucceeded))
			w.start(with(top))
		})
		t.Run("dollars", func(t *testing.T) {
			top := w.madeKey(nil, flow.Key{USDPerDay: 100})
			low, other := w.madeKey(top, flow.Key{USDPerDay: 100}), w.madeKey(top, flow.Key{USDPerDay: 100})
			first, second := w.atWork(with(low)), w.atWork(with(other))
			w.must(w.reserve(first, 60))
			if err := w.reserve(second, 50); !errors.Is(err, flow.ErrBudgetReserved) {
				t.Fatalf("two keys of one maker reserve beyond its budget: %v", err)
			}
			w.must(w.reserve(second, 40))
			if err := w.reserve(w.atWork(with(top)), 1); !errors.Is(err, flow.ErrBudgetReserved) {
				t.Fatalf("the maker reserves what its keys reserve: %v", err)
			}
			w.must(w.cost(first, 60))
			w.must(w.cost(second, 40))
			want := flow.Budget{KeyID: top.ID, Name: "made", Unit: flow.BudgetUSD, Limit: 100, Used: 100}
			for _, k := range []*flow.Key{low, other, top} {
				_, err := w.tryStart(with(k))
				wantBudget(t, err, want)
			}
		})
		t.Run("prices", func(t *testing.T) {
			top := w.madeKey(nil, flow.Key{USDPerDay: 100})
			low := w.madeKey(top, flow.Key{USDPerDay: 100})
			_, err := w.tryStart(with(low), func(n *flow.NewRun) { n.Unpriced = []string{"openai/x"} })
			wantCode(t, err, flow.CodePriceUnknown)
		})
	})
}

// reread returns a key with the current state of its makers.
func (w *fixture) reread(k *flow.Key) *flow.Key {
	w.t.Helper()
	k, err := w.FindKeyByHash(w.ctx, k.Hash)
	w.must(err)
	return k
}

func TestMadeKeys_in_parallel(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		top := w.madeKey(nil, flow.Key{RunsPerDay: 5, Concurrency: 7})
		var all sync.WaitGroup
		var mu sync.Mutex
		started := 0
		for range 8 {
			k := w.madeKey(top, flow.Key{RunsPerDay: 5, Concurrency: 7})
			for range 4 {
				all.Go(func() {
					_, err := w.tryStart(with(k))
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						started++
					} else if c := flow.AsError(err).Code; c != flow.CodeBudgetExceeded && c != flow.CodeConcurrencyLimited {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		wantEqual(t, "started", started, 5)
	})
}

func TestRevokeMadeKeys(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		top := w.madeKey(nil, flow.Key{})
		middle := w.madeKey(top, flow.Key{})
		low, other := w.madeKey(middle, flow.Key{}), w.madeKey(nil, flow.Key{})
		state := func(k *flow.Key) flow.KeyState { return w.reread(k).State(w.clock.Now()) }

		_, made, err := w.keyring().Revoke(w.ctx, ada, ws, middle.ID, false)
		w.must(err)
		wantEqual(t, "also revoked", len(made), 0)
		wantEqual(t, "below", state(low), flow.KeyActive)
		_, err = w.keyringOf(middle).Create(w.ctx, flow.Actor{ID: middle.ID}, &flow.Key{WorkspaceID: ws, Name: "late", Scopes: []flow.Scope{flow.ScopeRun}})
		wantCode(t, err, flow.CodeKeyRevoked)

		_, made, err = w.keyring().Revoke(w.ctx, ada, ws, top.ID, true)
		w.must(err)
		wantEqual(t, "also revoked", len(made), 1) // below one that was revoked before
		wantEqual(t, "below", state(low), flow.KeyRevoked)
		wantEqual(t, "another", state(other), flow.KeyActive)
		log, err := w.ListAudit(w.ctx, ws, "", 100)
		w.must(err)
		for _, k := range []*flow.Key{top, middle, low} {
			if !slices.ContainsFunc(log, func(e flow.AuditEntry) bool {
				return e.Action == "key.revoke" && strings.HasPrefix(e.Detail, k.ID)
			}) {
				t.Errorf("the audit log lacks that %s was revoked", k.ID)
			}
		}
	})
}

func (w *fixture) keyringOf(caller *flow.Key) *library.Keyring {
	ring := w.keyring()
	ring.Caller = caller
	return ring
}

// TestRevokeMadeKeys_concurrent_with_creation revokes a key and those below while it makes others. None of
// these survives.
func TestRevokeMadeKeys_concurrent_with_creation(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for range 5 {
			top := w.madeKey(nil, flow.Key{})
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					k := &flow.Key{WorkspaceID: ws, Name: "late", Scopes: []flow.Scope{flow.ScopeRun}}
					_, err := w.keyringOf(top).Create(w.ctx, flow.Actor{ID: top.ID}, k)
					if err != nil && flow.AsError(err).Code != flow.CodeKeyRevoked {
						t.Error(err)
					}
				})
			}
			all.Go(func() {
				if _, _, err := w.keyring().Revoke(w.ctx, ada, ws, top.ID, true); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			keys, err := w.ListKeys(w.ctx, ws)
			w.must(err)
			for _, k := range flow.KeysMadeBy(top.ID, keys) {
				if k.RevokedAt.IsZero() {
					t.Fatalf("%s survived", k.ID)
				}
			}
		}
	})
}

func TestMadeKeys_of_a_member_who_leaves(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		boss, bob := w.newUser("ada@example.com", flow.MemberOwner), w.newUser("bob@example.com", flow.MemberEditor)
		ring := w.keyring()
		text, err := ring.Create(w.ctx, flow.Actor{ID: bob.ID}, &flow.Key{WorkspaceID: ws, Name: "Bob", Scopes: flow.Scopes})
		w.must(err)
		top := w.presented(text)
		low := w.madeKey(top, flow.Key{})
		w.must(w.RemoveMember(w.ctx, ws, bob.ID, flow.KeyHandover{By: flow.Actor{ID: boss.ID}}))
		for _, k := range []*flow.Key{top, low} {
			wantEqual(t, "state", w.reread(k).State(w.clock.Now()), flow.KeyRevoked)
		}
	})
}

// TestUpdateKey_refuses_an_outdated_change checks that a change never undoes another one.
func TestUpdateKey_refuses_an_outdated_change(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k := w.madeKey(nil, flow.Key{RPM: 10})
		narrowed := *k
		narrowed.Flows = []string{string(w.flow.ID)}
		w.must(w.UpdateKey(w.ctx, k, &narrowed))
		renamed := *k
		renamed.Name = "renamed"
		if err := w.UpdateKey(w.ctx, k, &renamed); !errors.Is(err, flow.ErrKeyOutdated) {
			t.Fatalf("got %v", err)
		}
		calls := 0
		got, err := w.keyring().Change(w.ctx, ada, ws, k.ID, func(k *flow.Key) {
			if calls++; calls == 1 {
				other := narrowed
				other.RPM = 5
				w.must(w.UpdateKey(w.ctx, &narrowed, &other))
			}
			k.Name = "renamed"
		})
		w.must(err)
		wantEqual(t, "terms", got.Name+" "+audit.KeyTerms(got), "renamed run, admin · 1 flow · 5 requests a minute")
	})
}
