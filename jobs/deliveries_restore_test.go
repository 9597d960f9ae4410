package jobs_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/backup"
	"sluice/flow"
)

// TestDelivery_keeps_ID_after_restore wants a delivery that is created again after a
// restore to have the same webhook-id, for a node's webhook and for the run's, so that
// receivers deduplicate it.
func TestDelivery_keeps_ID_after_restore(t *testing.T) {
	t.Parallel()
	url, got := receiver(t, status(204))
	document := strings.Replace(gatedFlow, `{"id":"o"`, `{"id":"s","kind":"send","config":{"url":"`+url+`"}},{"id":"o"`, 1)
	document = strings.Replace(document, `{"from":"g.value","to":"o.value"}`, `{"from":"g.value","to":"o.value"},{"from":"g.value","to":"s.value"}`, 1)
	was := sqliteConfig(t)
	first := newFixture(t, was, document).start()
	run := first.startRun(func(s *flow.Start) { s.Options.Webhook = &flow.RunWebhook{URL: url} })
	<-first.gate.started
	archive := filepath.Join(t.TempDir(), "now.backup")
	if _, err := backup.Create(context.Background(), first.store.DB, archive, "test", backup.Local); err != nil {
		t.Fatal(err)
	}
	sent := func(fx *fixture) map[string]bool {
		fx.gate.release <- nil
		fx.awaitEnd(run)
		return map[string]bool{(<-got).header.Get("Webhook-Id"): true, (<-got).header.Get("Webhook-Id"): true}
	}
	before := sent(first)

	cfg := db.Config{DataDir: filepath.Join(t.TempDir(), "restored"), MasterKeyFile: filepath.Join(was.DataDir, db.KeyFile)}
	if _, err := backup.Restore(context.Background(), cfg, archive, false); err != nil {
		t.Fatal(err)
	}
	again := newFixture(t, cfg, passThroughFlow) // publishes another flow; the run's comes with the backup
	again.flowID = run.FlowID
	again.start()
	<-again.gate.started
	after := sent(again)
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("sent %v, then %v", before, after)
	}
	for id := range before {
		if !after[id] {
			t.Errorf("%s has another ID after the restore: %v", id, after)
		}
	}
}
