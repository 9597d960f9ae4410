package db_test

import (
	"context"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestBroadcast checks that all other instances receive a message, but not the sender.
func TestBroadcast(t *testing.T) {
	t.Parallel()
	cfg := dbtest.PostgresConfig(t)
	heard := make(chan string, 100)
	stores := []*db.Store{openOn(t, cfg), openOn(t, cfg)}
	for i, s := range stores {
		s.OnBroadcast = func(topic, text string) { heard <- string(rune('a'+i)) + " " + topic + " " + text }
		listening := make(chan struct{}, 1)
		go s.Listen(t.Context(), func(flow.RunID) {
			select {
			case listening <- struct{}{}:
			default:
			}
		})
		<-listening
	}
	tell := func(i int, topic, text string) {
		t.Helper()
		if err := stores[i].Broadcast(t.Context(), topic, text); err != nil {
			t.Fatal(err)
		}
	}
	tell(0, "page", `{"with": "spaces"}`)
	wantEqual(t, "heard", <-heard, `b page {"with": "spaces"}`)
	tell(1, "cancel", "")
	wantEqual(t, "heard, and the first said nothing to itself", <-heard, "a cancel ")
	if err := stores[0].Broadcast(t.Context(), "page", strings.Repeat("x", 8000)); err == nil {
		t.Error("what PostgreSQL does not take was told")
	}
	alone := dbtest.SQLite(t)
	if err := alone.Broadcast(context.Background(), "page", "x"); err != nil {
		t.Error(err)
	}
}

func openOn(t *testing.T, cfg core.Config) *db.Store {
	t.Helper()
	return dbtest.Postgres(t, func(c *core.Config) { *c = cfg })
}
