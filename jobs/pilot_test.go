package jobs_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"sluice/db"
	"sluice/db/dbtest"
	"sluice/flow"
)

// TestPilot_completes_deleted_job deletes the row of a job while River is completing it,
// as a recovery does that takes over from a frozen instance. River's own completion
// would panic.
func TestPilot_completes_deleted_job(t *testing.T) {
	t.Parallel()
	url, _ := receiver(t, status(204), status(204))
	fx := newFixture(t, dbtest.PostgresConfig(t), sendFlow(url)).start()
	ctx := t.Context()
	deletion, err := db.Pool(fx.store).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer deletion.Rollback(context.Background())
	fx.startRun()
	fx.waitUntil("a job is being worked on or completed", func() bool {
		rows, err := deletion.Query(ctx, `DELETE FROM river_job WHERE state = 'running' RETURNING id`)
		if err != nil {
			t.Fatal(err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		return err == nil && len(ids) > 0
	})
	fx.waitUntil("River waits to complete it", func() bool {
		var waiting bool
		err := db.Pool(fx.store).QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%river_job%')`).Scan(&waiting)
		return err == nil && waiting
	})
	if err := deletion.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	fx.startRun()
	fx.waitUntil("all jobs are gone", func() bool {
		var left int
		err := db.Pool(fx.store).QueryRow(ctx, `SELECT (SELECT count(*) FROM river_job) + (SELECT count(*) FROM deliveries WHERE state <> $1)`, string(flow.DeliveryDelivered)).Scan(&left)
		return err == nil && left == 0
	})
}

func TestPilot_deletes_completed_jobs(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, sqliteConfig(t), passThroughFlow).start()
	fx.awaitEnd(fx.startRun())
	fx.waitUntil("no job is left", func() bool {
		return fx.queryInt(`SELECT count(*) FROM river_job WHERE kind IN ('run', 'delivery')`) == 0
	})
}
