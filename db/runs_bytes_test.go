package db_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"sluice/db"
	"sluice/db/core"
)

// BenchmarkRunBytes reports how many bytes of the write-ahead log a run costs
// from its start to its end, one run at a time. Unlike a time it does not depend
// on the machine, so it shows what an index costs.
func BenchmarkRunBytes(b *testing.B) {
	for name, open := range openers {
		b.Run(name, func(b *testing.B) {
			var dir string
			s, f := benchStore(b, func(t testing.TB, set ...func(*core.Config)) *db.Store {
				return open(t, append(set, func(c *core.Config) { dir = c.DataDir })...)
			})
			fillRuns(b, s, 20_000)
			const runs = 100
			least := int64(math.MaxInt64) // now and then PostgreSQL logs something else
			for b.Loop() {
				before := logged(b, s, dir, true)
				for range runs {
					if err := wholeRun(s, f.ID); err != nil {
						b.Fatal(err)
					}
				}
				least = min(least, logged(b, s, dir, false)-before)
			}
			b.ReportMetric(float64(least)/runs, "log-B/run")
		})
	}
}

// logged returns the number of bytes written to the write-ahead log. On SQLite, which
// reuses the log file, the log can be emptied first.
func logged(b *testing.B, s *db.Store, dir string, empty bool) (n int64) {
	b.Helper()
	if s.IsPostgres() {
		if err := db.Pool(s).QueryRow(b.Context(), "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint").Scan(&n); err != nil {
			b.Fatal(err)
		}
		return n
	}
	if empty {
		if _, err := s.SQLite().ExecContext(b.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, core.DatabaseFile+"-wal"))
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}
