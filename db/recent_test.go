package db_test

import (
	"errors"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// onTwoStores runs a test with two stores on one database, like two processes.
func onTwoStores(t *testing.T, test func(t *testing.T, here, there *fixture)) {
	t.Parallel()
	for name, config := range map[string]func(testing.TB, ...func(*core.Config)) core.Config{"sqlite": dbtest.SQLiteConfig, "postgres": dbtest.PostgresConfig} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			var worlds []*fixture
			for range 2 {
				s, err := db.Open(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				w := &fixture{Store: s, t: t, ctx: t.Context(), clock: &clock{now: time.Now()}, queue: &queue{}}
				s.UseQueue(w.queue)
				worlds = append(worlds, w)
			}
			worlds[0].flow = worlds[0].newFlow(ws)
			test(t, worlds[0], worlds[1])
		})
	}
}

// recentKey returns a key as a later request gets it from the cache.
func (w *fixture) recentKey(k *flow.Key) *flow.Key {
	w.t.Helper()
	for range 2 {
		var err error
		k, err = w.RecentKey(w.ctx, k.Hash)
		w.must(err)
	}
	if !k.Recent {
		w.t.Fatal("the key was not remembered")
	}
	return k
}

func TestStartRun_refuses_an_outdated_cached_key(t *testing.T) {
	changes := map[string]func(w *fixture, k *flow.Key) error{
		"revoked": func(w *fixture, k *flow.Key) error { return w.RevokeKey(w.ctx, ws, k.ID) },
		"expires": func(w *fixture, k *flow.Key) error {
			k.ExpiresAt = time.Now().Add(time.Hour)
			return w.updateKey(k)
		},
		"flows": func(w *fixture, k *flow.Key) error { k.Flows = []string{"flow_other"}; return w.updateKey(k) },
		"limit": func(w *fixture, k *flow.Key) error { k.Concurrency = 1; return w.updateKey(k) },
		"text": func(w *fixture, k *flow.Key) error {
			k.Previous = flow.PreviousSecret{Prefix: k.Prefix, Until: time.Now()}
			k.Prefix, k.Hash = "slu_new", "another"
			return w.RotateKey(w.ctx, k)
		},
	}
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		for name, change := range changes {
			k := &flow.Key{ID: "key_" + name, WorkspaceID: ws, Name: name, Prefix: "slu_" + name, Hash: "hash of " + name, CreatedAt: time.Now()}
			here.must(here.CreateKey(here.ctx, k))
			start := func() error {
				_, err := here.tryStart(func(n *flow.NewRun) { n.Key, n.Run.KeyID = here.recentKey(k), k.ID })
				return err
			}
			here.must(start())
			changed := *k
			there.must(change(there, &changed))
			if err := start(); !errors.Is(err, flow.ErrKeyOutdated) {
				t.Errorf("%s elsewhere, the key started a run: %v", name, err)
			}
		}
	})
}

func TestStartRun_refuses_an_outdated_cached_version(t *testing.T) {
	onTwoStores(t, func(t *testing.T, here, there *fixture) {
		publish := func(w *fixture, body string) flow.Version {
			v, _, err := w.PublishFlow(w.ctx, ws, here.flow.ID, []byte(body), "", "me")
			w.must(err)
			return v
		}
		start := func() (flow.LiveVersion, error) {
			live, ok, err := here.RecentLiveVersion(here.ctx, ws, here.flow.ID)
			if here.must(err); !ok {
				t.Fatal("the flow has no live version")
			}
			_, err = here.tryStart(func(n *flow.NewRun) {
				n.Live, n.Run.Version, n.Run.DocumentHash, n.Run.FlowSlug = true, live.Number, live.DocumentHash, live.Slug
			})
			return live, err
		}
		publish(here, `{"a":1}`)
		_, err := start()
		here.must(err)
		here.must(there.RenameSlug(here.ctx, ws, here.flow.ID, "renamed", false))
		if _, err = start(); !errors.Is(err, flow.ErrFlowOutdated) {
			t.Errorf("a start with a slug from before a rename: %v", err)
		}
		if live, err := start(); err != nil || live.Slug != "renamed" {
			t.Errorf("after the rename: %v, %v", live, err)
		}
		second := publish(there, `{"a":2}`)
		if _, err = start(); !errors.Is(err, flow.ErrFlowOutdated) {
			t.Errorf("a version that is no longer live was started: %v", err)
		}
		live, err := start()
		here.must(err)
		if live.Number != second.Number || live.DocumentHash != second.DocumentHash {
			t.Errorf("version %d was started, want %d", live.Number, second.Number)
		}
		there.must(there.ArchiveFlow(there.ctx, ws, here.flow.ID))
		if _, err = start(); !errors.Is(err, flow.ErrFlowOutdated) {
			t.Errorf("an archived flow was started: %v", err)
		}
		if _, ok, err := here.RecentLiveVersion(here.ctx, ws, here.flow.ID); ok || err != nil {
			t.Errorf("an archived flow has a live version: %v", err)
		}
	})
}
