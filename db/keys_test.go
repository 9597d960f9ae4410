package db_test

import (
	"strings"
	"testing"
	"time"

	"sluice/flow"
	"sluice/flow/audit"
	"sluice/flow/library"
)

func (w *fixture) keyring() *library.Keyring {
	return &library.Keyring{Store: w.Store, IDs: flow.NewIDs(), Now: w.clock.Now}
}

// updateKey writes a key over its current state.
func (w *fixture) updateKey(k *flow.Key) error {
	before, err := w.FindKey(w.ctx, k.WorkspaceID, k.ID)
	if err != nil {
		return err
	}
	return w.UpdateKey(w.ctx, before, k)
}

// bear returns the result for a caller that presents a secret.
func (w *fixture) bear(text string) error {
	w.t.Helper()
	k, err := w.FindKeyByHash(w.ctx, flow.Hash([]byte(text)))
	w.must(err)
	return k.Refusal(w.clock.Now())
}

var ada = flow.Actor{ID: "user_ada", IP: "::1"}

// makeKey creates a key that is valid for ten days.
func (w *fixture) makeKey() (*flow.Key, string) {
	w.t.Helper()
	k := &flow.Key{
		WorkspaceID: ws, Name: " Site ", Scopes: []flow.Scope{flow.ScopeRun}, Flows: []string{string(w.flow.ID)}, RPM: 600, RunsPerDay: 1000,
		ExpiresAt: w.clock.Now().Add(10 * 24 * time.Hour),
	}
	text, err := w.keyring().Create(w.ctx, ada, k)
	w.must(err)
	return k, text
}

func TestRotateKey(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, first := w.makeKey()
		w.clock.move(24 * time.Hour)
		rolled, second, err := w.keyring().Rotate(w.ctx, ada, ws, k.ID, k.Prefix, time.Hour)
		w.must(err)
		wantEqual(t, "as much time again", rolled.ExpiresAt, w.clock.Now().Add(10*24*time.Hour))
		w.must(w.bear(first))
		w.must(w.bear(second))

		w.must(w.TouchKeys(w.ctx, []flow.KeyUse{{KeyID: k.ID, Previous: flow.Hash([]byte(first)), At: w.clock.Now(), IP: "::2", Count: 3}, {KeyID: k.ID, At: w.clock.Now(), IP: "::3", Count: 4}}))
		got, err := w.FindKey(w.ctx, ws, k.ID)
		w.must(err)
		wantEqual(t, "uses of both", got.Uses, 7)
		wantEqual(t, "uses of the old one", got.Previous.Uses, 3)
		wantEqual(t, "its last use", got.Previous.UsedIP, "::2")
		wantEqual(t, "limits stay", got.RPM+got.RunsPerDay, 1600)

		w.clock.move(time.Hour - time.Microsecond)
		w.must(w.bear(first))
		w.clock.move(time.Microsecond)
		wantCode(t, w.bear(first), flow.CodeKeyRevoked)
		w.must(w.bear(second))

		_, _, err = w.keyring().Rotate(w.ctx, ada, ws, k.ID, k.Prefix, 0)
		wantCode(t, err, flow.CodeInputInvalid) // the prefix is that of the text before
		_, third, err := w.keyring().Rotate(w.ctx, ada, ws, k.ID, rolled.Prefix, 0)
		w.must(err)
		wantCode(t, w.bear(second), flow.CodeKeyRevoked)
		w.must(w.bear(third))
		_, err = w.FindKeyByHash(w.ctx, flow.Hash([]byte(first)))
		wantCode(t, err, flow.CodeNotFound)
		_, _, err = w.keyring().Rotate(w.ctx, ada, "ws_other", k.ID, rolled.Prefix, 0)
		wantCode(t, err, flow.CodeNotFound)
		w.clock.move(10 * 24 * time.Hour)
		wantCode(t, w.bear(third), flow.CodeKeyExpired)
	})
}

func TestRotateKey_ends(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, first := w.makeKey()
		w.clock.move(9 * 24 * time.Hour)
		rolled, second, err := w.keyring().Rotate(w.ctx, ada, ws, k.ID, k.Prefix, 7*24*time.Hour)
		w.must(err)
		wantEqual(t, "not beyond its own expiry", rolled.Previous.Until, k.ExpiresAt)
		_, err = w.keyring().EndPrevious(w.ctx, ada, ws, k.ID)
		w.must(err)
		wantCode(t, w.bear(first), flow.CodeKeyRevoked)
		w.must(w.bear(second))
		_, _, err = w.keyring().Revoke(w.ctx, ada, ws, k.ID, false)
		w.must(err)
		wantCode(t, w.bear(second), flow.CodeKeyRevoked)
		wantCode(t, w.bear(first), flow.CodeKeyRevoked)
		_, _, err = w.keyring().Rotate(w.ctx, ada, ws, k.ID, rolled.Prefix, 0)
		wantCode(t, err, flow.CodeInputInvalid)
		_, err = w.keyring().Change(w.ctx, ada, ws, k.ID, func(*flow.Key) {})
		wantCode(t, err, flow.CodeInputInvalid)
	})
}

func TestChangeKey(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		k, _ := w.makeKey()
		w.clock.move(time.Second)
		wanted := *k
		wanted.Name, wanted.Flows, wanted.USDPerDay, wanted.RPM, wanted.ExpiresAt, wanted.Scopes = "Shop", nil, 5e9, 0, time.Time{}, flow.Scopes
		_, err := w.keyring().Change(w.ctx, ada, ws, k.ID, func(k *flow.Key) { *k = wanted })
		w.must(err)
		got, err := w.FindKey(w.ctx, ws, k.ID)
		w.must(err)
		wantEqual(t, "terms", audit.KeyTerms(got), "run · all flows · 1000 runs a day · $5 a day")
		log, err := w.ListAudit(w.ctx, ws, "", 10)
		w.must(err)
		wantEqual(t, "lines", len(log), 2)
		wantEqual(t, "made", log[1].Action+" "+log[1].Target, "key.create Site")
		for _, want := range []string{k.ID, "“Site” to “Shop”", "requests a minute from 600 to no limit", "dollars a day from no limit to 5", "expiry from", "flows from " + string(w.flow.ID) + " to all"} {
			if !strings.Contains(log[0].Detail, want) {
				t.Errorf("the audit log lacks %q: %s", want, log[0].Detail)
			}
		}
		_, err = w.keyring().Change(w.ctx, ada, "ws_other", k.ID, func(k *flow.Key) { *k = wanted })
		wantCode(t, err, flow.CodeNotFound)
	})
}

func TestKeyring_refuses_invalid_settings(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		for _, c := range []struct {
			setting string
			change  func(*flow.Key)
		}{
			{"/name", func(k *flow.Key) { k.Name = " " }},
			{"/name", func(k *flow.Key) { k.Name = strings.Repeat("x", 101) }},
			{"/name", func(k *flow.Key) { k.Name = "a\nb" }},
			{"/name", func(k *flow.Key) { k.Name = "mine: " + flow.NewKeyText() }},
			{"/scopes", func(k *flow.Key) { k.Scopes = nil }},
			{"/scopes", func(k *flow.Key) { k.Scopes = []flow.Scope{"all"} }},
			{"/flows", func(k *flow.Key) { k.Flows = []string{"flow_nothing"} }},
			{"/expires", func(k *flow.Key) { k.ExpiresAt = w.clock.Now() }},
			{"/rpm", func(k *flow.Key) { k.RPM = -1 }},
			{"/concurrency", func(k *flow.Key) { k.Concurrency = 2e9 }},
			{"/runs_per_day", func(k *flow.Key) { k.RunsPerDay = -1 }},
			{"/usd_per_day", func(k *flow.Key) { k.USDPerDay = -1 }},
		} {
			k := &flow.Key{WorkspaceID: ws, Name: "Site", Scopes: []flow.Scope{flow.ScopeRun}}
			c.change(k)
			_, err := w.keyring().Create(w.ctx, ada, k)
			if e := flow.AsError(err); len(e.Fields) != 1 || e.Fields[0].Pointer != c.setting {
				t.Errorf("%s: %v", c.setting, err)
			}
		}
		list, err := w.ListKeys(w.ctx, ws)
		w.must(err)
		wantEqual(t, "keys made", len(list), 0)
	})
}

func TestListKeyMakers(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		u := &flow.User{Email: "ada@example.com", Name: "Ada"}
		w.must(w.CreateUser(w.ctx, ws, u, flow.MemberEditor))
		_, err := w.keyring().Create(w.ctx, flow.Actor{ID: u.ID}, &flow.Key{WorkspaceID: ws, Name: "Site", Scopes: flow.Scopes})
		w.must(err)
		makers, err := w.ListKeyMakers(w.ctx, ws)
		w.must(err)
		wantEqual(t, "member", makers[u.ID], flow.KeyMaker{Name: "Ada", Member: true})
		w.must(w.RemoveMember(w.ctx, ws, u.ID, flow.KeyHandover{}))
		makers, err = w.ListKeyMakers(w.ctx, ws)
		w.must(err)
		wantEqual(t, "no longer", makers[u.ID], flow.KeyMaker{Name: "Ada"})
	})
}
