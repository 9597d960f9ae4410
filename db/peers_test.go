package db_test

import (
	"bytes"
	"testing"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

func TestFindPeer(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		want := func(when string, runID flow.RunID, want flow.Peer) {
			t.Helper()
			if got, err := w.FindPeer(w.ctx, runID); err != nil || got != want {
				t.Errorf("%s: got %+v, %v; wanted %+v", when, got, err, want)
			}
		}
		w.must(w.Heartbeat(w.ctx, "one", 5))
		r := w.start()
		want("a run that nobody works on", r.ID, flow.Peer{})
		want("a run that does not exist", "run_none", flow.Peer{})
		if !w.IsPostgres() {
			return // one process works on all runs
		}
		w.take(r.ID)
		want("an instance without an address", r.ID, flow.Peer{})
		w.PeerAddr = "10.0.0.5:8081"
		w.must(w.Heartbeat(w.ctx, "one", 5))
		want("an instance with an address", r.ID, flow.Peer{Instance: "one", Addr: "10.0.0.5:8081"})
		w.PeerAddr = ""
		w.must(w.Heartbeat(w.ctx, "one", 5))
		want("an instance that came back without one", r.ID, flow.Peer{})
	})
}

func TestPeerKey(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	key := func(set func(*core.Config)) []byte {
		other := cfg
		set(&other)
		s, err := db.Open(t.Context(), other)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		key, err := s.PeerKey()
		if err != nil || len(key) != 32 {
			t.Fatalf("got %d bytes, %v", len(key), err)
		}
		return key
	}
	one := key(func(*core.Config) {})
	if !bytes.Equal(one, key(func(c *core.Config) { c.DataDir = t.TempDir() })) {
		t.Error("two instances with one master key derive different keys")
	}
	if bytes.Equal(one, key(func(c *core.Config) { *c = dbtest.SQLiteConfig(t) })) {
		t.Error("another master key gives the same key")
	}
}
