package db_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db"
	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/flow"
)

// A pooler that moves a connection between sessions is refused, in whatever
// order it assigns them and whichever other clients use it.
func TestOpen_behind_a_transaction_pooler(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]string{
		"transaction": nil, "statement": nil, "transaction in turn": {"server_round_robin = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mode := name[:len("statement")]
			if mode != "statement" {
				mode = "transaction"
			}
			cfg := dbtest.PgBouncer(t, dbtest.PostgresConfig(t), mode, settings...)
			if mode == "transaction" {
				t.Cleanup(occupy(t, cfg))
			}
			s, err := db.Open(t.Context(), cfg)
			if err == nil {
				_ = s.Close()
			}
			if !errors.Is(err, dbconn.ErrPooler) {
				t.Errorf("got error %v, want ErrPooler", err)
			}
		})
	}
}

// occupy opens connections through the pooler that leave a few sessions idle,
// as other programs do.
func occupy(t *testing.T, cfg core.Config) (release func()) {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	var held []*pgxpool.Conn
	for range 5 {
		conn, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
	}
	for _, conn := range held[1:] {
		if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		for _, conn := range held {
			conn.Release()
		}
		pool.Close()
	}
}

// In session mode a pooler changes nothing: the store also receives notifications,
// for which a connection needs its own session.
func TestOpen_behind_a_session_pooler(t *testing.T) {
	t.Parallel()
	c := &clock{}
	cfg := dbtest.PgBouncer(t, dbtest.PostgresConfig(t), "session")
	s, err := db.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := newFixture(t, s, c)
	ctx, stop := context.WithCancel(t.Context())
	heard, ended := make(chan flow.RunID, 100), make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Listen(ctx, func(runID flow.RunID) { heard <- runID })
	}()
	<-heard // that it listens
	run := w.startAndFinish()
	for id := range heard {
		if id == run.ID {
			break
		}
	}
	stop()
	<-ended
	e, err := s.Inspect(t.Context())
	w.must(err)
	if !e.Pooler {
		t.Error("the pooler is not reported")
	}
	direct := dbtest.Postgres(t)
	if e, err := direct.Inspect(t.Context()); err != nil || e.Pooler {
		t.Errorf("without a pooler: %v, %v", e.Pooler, err)
	}
}
