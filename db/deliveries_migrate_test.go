package db_test

import (
	"os"
	"strings"
	"testing"

	"sluice/db/core"
)

// TestMigration_gives_deliveries_endpoints checks that the migration creates the
// endpoints of existing deliveries.
func TestMigration_gives_deliveries_endpoints(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		urls := map[string]string{
			"http://a.test/x": "a.test", "https://A.test:8443?q=/": "a.test:8443", "HTTPS://b.test": "b.test", "https://b.test#top": "b.test", "http://[::1]:9/x/y": "[::1]:9",
		}
		for url := range urls {
			w.failed(url)
		}
		text, err := os.ReadFile("migrations/00003_deliveries.sql")
		w.must(err)
		before := []string{"UPDATE deliveries SET endpoint_id = ''", "DELETE FROM endpoints"}
		for _, statement := range strings.Split(string(text), ";\n") {
			if at := strings.Index(statement, "INSERT INTO endpoints"); at >= 0 {
				before = append(before, statement[at:])
			}
			if at := strings.Index(statement, "UPDATE deliveries"); at >= 0 {
				before = append(before, statement[at:])
			}
		}
		wantEqual(t, "statements", len(before), 4)
		for _, statement := range before {
			w.must(w.Write(w.ctx, true, func(tx *core.Tx) error {
				_, err := tx.DBTX.ExecContext(w.ctx, statement)
				return err
			}))
		}
		list, err := w.ListEndpoints(w.ctx, ws, w.flow.ID, false, 10)
		w.must(err)
		wantEqual(t, "endpoints", len(list), 4) // two of the URLs are on one host
		for _, e := range list {
			wantEqual(t, "host of "+e.URL, e.Host, urls[e.URL])
		}
	})
}
