package jobs_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/dbtest"
)

// TestAnnouncer_notifies_seldom counts the notifications of many jobs. Each locks out the
// notifications of the whole server while it commits, so their number must not grow with that of jobs.
func TestAnnouncer_notifies_seldom(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, status(204))
	fx := newFixture(t, dbtest.PostgresConfig(t), sendFlow(url)).start()
	conn, err := db.Pool(fx.store).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listener := conn.Hijack()
	defer listener.Close(context.Background())
	var channel string
	if err := listener.QueryRow(t.Context(), "SELECT current_schema() || '.river_insert'").Scan(&channel); err != nil {
		t.Fatal(err)
	}
	if _, err := listener.Exec(t.Context(), `LISTEN "`+channel+`"`); err != nil {
		t.Fatal(err)
	}
	var deliveries atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		for {
			n, err := listener.WaitForNotification(ctx)
			if err != nil {
				return
			}
			if strings.Contains(n.Payload, "deliver") {
				deliveries.Add(1)
			}
		}
	}()
	const runs = 60
	start := time.Now()
	for range runs {
		fx.startRun()
	}
	for range runs {
		<-got
	}
	most := int64(time.Since(start)/(10*time.Millisecond)) + 2
	fx.waitUntil("one notification is seen", func() bool { return deliveries.Load() > 0 })
	cancel()
	<-listened
	if n := deliveries.Load(); n > most {
		t.Errorf("%d notifications for %d jobs in %s, want at most %d", n, runs, time.Since(start), most)
	}
}
