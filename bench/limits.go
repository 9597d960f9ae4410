package main

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver that Sluice uses
)

// rawDSN is how Sluice opens its writer.
const rawDSN = "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=10000&_txlock=immediate&_foreign_keys=1&_stmt_cache_size=128"

// rawCommits measures what the disk gives: callers commit one small row each,
// synced, and those who wait together share a transaction.
func (b *bench) rawCommits(callers int, limit time.Duration) (*load, error) {
	dir, err := os.MkdirTemp(b.dir, "raw-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "raw.db")+rawDSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"); err != nil {
		return nil, err
	}
	waiting := make(chan chan error, callers)
	go commitGroups(db, waiting)
	defer close(waiting)
	return commitAll(callers, limit, waiting), nil
}

// commitAll lets every caller commit again and again until the time is over.
func commitAll(callers int, limit time.Duration, waiting chan<- chan error) *load {
	l := &load{}
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	for range callers {
		all.Go(func() {
			var times []time.Duration
			done := make(chan error, 1)
			for time.Since(begun) < limit {
				at := time.Now()
				waiting <- done
				if err := <-done; err != nil {
					break
				}
				times = append(times, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			l.times = append(l.times, times...)
		})
	}
	all.Wait()
	l.took = time.Since(begun)
	slices.Sort(l.times)
	return l
}

// commitGroups inserts a row for everyone who waits, in one transaction.
func commitGroups(db *sql.DB, waiting <-chan chan error) {
	group := []chan error{}
	for first := range waiting {
		group = append(group[:0], first)
		for more := true; more; {
			select {
			case next, ok := <-waiting:
				if more = ok; ok {
					group = append(group, next)
				}
			default:
				more = false
			}
		}
		err := insert(db, len(group))
		for _, done := range group {
			done <- err
		}
	}
}

func insert(db *sql.DB, rows int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for range rows {
		if _, err := tx.Exec("INSERT INTO rows (body) VALUES (?)", "a row of about the length of what a run says of itself"); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// nothing measures requests that do nothing: what HTTP alone costs server and
// caller together.
func nothing(s *server, callers int, limit time.Duration) (*load, error) {
	live := head("GET", "/livez", "none")
	return drive(s.addr, callers, limit, 0, func(w *wire, _, _ int) error {
		status, body, err := w.get(live)
		if err == nil && status != 200 {
			err = fmt.Errorf("status %d: %s", status, body)
		}
		return err
	})
}

// machineLimit words both limits for a number of callers.
func (b *bench) machineLimit(s *server, callers int) (string, error) {
	commits, err := b.rawCommits(callers, 2*time.Second)
	if err != nil {
		return "", err
	}
	idle, err := nothing(s, callers, 2*time.Second)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s synced one-row commits/s, grouped; %s GET /livez/s", count(commits.rate()), count(idle.rate())), nil
}
