package e2e

import (
	"bytes"
	"database/sql"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/mattn/go-sqlite3"
)

// anyonesDir returns a temporary directory that other users can enter, because PostgreSQL
// does not run as root.
func anyonesDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fillDisk writes a file until the disk is full. It returns a function that removes it.
func fillDisk(t *testing.T, dir string) (empty func()) {
	t.Helper()
	path := filepath.Join(dir, "fill")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
	}
	return func() {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServe_starts_on_full_disk starts a server on a full disk. It serves stored data and rejects
// runs until there is space.
func TestServe_starts_on_full_disk(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"killed", "stopped"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			disk := smallDisk(t, 32)
			up := newSlowUpstream(t)
			s := stoppedServer(t)
			s.dir = filepath.Join(disk, "data")
			s.env = append(s.env, "SLUICE_DATA_DIR="+s.dir)
			s.start()
			greet, call := s.publish(greeting()), s.publish(calling(up.URL))
			key := s.key()
			done := s.client(key).succeed(greet, object{"name": "Ada"})
			var cut *run
			if end == "killed" {
				cut = s.client(key).start(call, object{"n": "1"})
				s.waitUntil("the call hangs", func() bool { return up.calls.Load() == 1 })
				s.kill()
			} else {
				s.stop()
			}
			free := fillDisk(t, disk)
			s.start()
			c := s.client(key)
			if r := c.want(200, "GET", done.path(), nil).run(t); r.Status != "succeeded" {
				t.Errorf("read on a full disk, a run is %s", r.Status)
			}
			c.rejected(503, "storage_full", "POST", "/v1/flow/"+greet+"/run", object{"name": "Ada"})
			free()
			s.waitUntil("runs are accepted", func() bool {
				a, err := c.try("POST", "/v1/flow/"+greet+"/run", object{"name": "Ada"})
				return err == nil && a.status == 202
			})
			up.release()
			if cut != nil {
				if r := c.await(cut); r.Status != "succeeded" {
					t.Errorf("the run that was in flight is %s: %+v", r.Status, r.Error)
				}
			}
			s.stop()
			s.faults = nil // the log says that the disk was full
		})
	}
}

// TestServe_with_damaged_database damages a page of the database that only the recovery reads.
func TestServe_with_damaged_database(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.stop()
	path := filepath.Join(s.dir, "sluice.db")
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	err = db.QueryRow("SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'river_leader'").Scan(&page, &size)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xff}, int(size)), (page-1)*size); err != nil {
		t.Fatal(err)
	}
	f.Close()
	cmd := exec.Command(sluice, "serve")
	cmd.Env = environment(s.env...)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "damaged") || !strings.Contains(string(out), "sluice restore --replace") {
		t.Errorf("a start on a damaged database: %v\n%s", err, out)
	}
}
