package e2e

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db/dbtest"
	"sluice/e2e/need"
)

// The databases in testdata/first-release were made by this release, 0.1.0, which
// was killed while it worked. They are written again with
//
//	go test ./e2e -run TestFirstRelease -first-release
const firstRelease = "372a8509a6e6a6f5997a8475a7365394cb56c4a2"

var writeFirstRelease = flag.Bool("first-release", false, "write the databases of TestFirstRelease again, with a build of that release")

// firstNames are the IDs and secrets in the database of the first release.
type firstNames struct {
	MadeAt  time.Time
	Flows   map[string]string // kind to ID
	Runs    map[string]*run   // what it is to the run as it was
	Keys    map[string]string // what it is to the key itself
	Signing map[string]string // kind of flow to its webhook secret
	File    string            // ID of a file
}

const (
	firstSecret = "Bearer sesame-0123456789"
	firstText   = "a file of the first release\n"
)

// outside is the service that all flows call. Its address is part of the stored documents,
// so it is fixed; it is in a part of the loopback network that other programs do not use.
type outside struct {
	*httptest.Server
	open  atomic.Bool // it answers what it did not answer to the first release
	mu    sync.Mutex
	calls map[string]int
	hooks []message
}

func newOutside(t *testing.T, address string) *outside {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	need.Tool(t, "this machine has no addresses below 127.83.0.0/16 to listen on", err == nil)
	o := &outside{calls: map[string]int{}}
	o.Server = httptest.NewUnstartedServer(http.HandlerFunc(o.serve))
	_ = o.Listener.Close()
	o.Listener = listener
	o.Start()
	t.Cleanup(func() {
		o.CloseClientConnections()
		o.Close()
	})
	return o
}

func (o *outside) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	o.mu.Lock()
	o.calls[r.URL.Path+" "+r.Header.Get("Idempotency-Key")]++
	if strings.HasPrefix(r.URL.Path, "/hook") {
		o.hooks = append(o.hooks, message{r.URL.Path, r.Header.Clone(), body})
	}
	o.mu.Unlock()
	switch path := r.URL.Path; {
	case path == "/hang" && !o.open.Load():
		<-r.Context().Done()
		return
	case path == "/later" && !o.open.Load(), path == "/hook/later" && !o.open.Load():
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case path == "/never":
		w.WriteHeader(http.StatusBadRequest)
		return
	case path == "/secret" && r.Header.Get("Authorization") != firstSecret:
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"key": "`+r.Header.Get("Idempotency-Key")+`"}`)
}

// called returns how often a step called a path.
func (o *outside) called(path, key string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calls[path+" "+key]
}

func (o *outside) hook(path string) (found []message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.hooks {
		if m.path == path {
			found = append(found, m)
		}
	}
	return found
}

// firstDatabase is one of the two databases that the first release created.
type firstDatabase struct {
	name, address string
	// keep writes what a killed server left; restore makes it a database again,
	// and returns the environment of a server for it.
	keep    func(t *testing.T, s *server)
	restore func(t *testing.T, dir string) (env []string, exec func(statement string) [][2]string)
}

func (d *firstDatabase) path(name string) string {
	return filepath.Join("testdata", "first-release", d.name+name)
}

// TestFirstRelease starts this program on databases of release 0.1.0. Everything in them is
// there and works, and unfinished work is completed.
func TestFirstRelease(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	for _, d := range []*firstDatabase{firstOnSQLite(), firstOnPostgres()} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			o := newOutside(t, d.address)
			if *writeFirstRelease {
				d.write(t, o)
			}
			dir := filepath.Join(t.TempDir(), "data")
			env, exec := d.restore(t, dir)
			var names firstNames
			readJSON(t, d.path(".json"), &names)
			d.age(names.MadeAt, exec)
			o.open.Store(true)
			s := stoppedServer(t, env...)
			s.dir = dir
			s.env = append(s.env, "SLUICE_DATA_DIR="+dir)
			s.start()
			(&firstCheck{t, s, o, &names}).all()
		})
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// age moves all times forward, as if the database had been created ten minutes ago. Keys,
// pauses and runs would have expired otherwise.
func (d *firstDatabase) age(made time.Time, exec func(string) [][2]string) {
	by := time.Since(made) - 10*time.Minute
	for _, column := range exec("columns") {
		table, name := column[0], column[1]
		if strings.HasSuffix(name, "_at") || strings.HasSuffix(name, "_until") || strings.HasSuffix(name, "_since") {
			exec("UPDATE " + table + " SET " + name + " = " + name + " + " + strconv.FormatInt(by.Microseconds(), 10) + " WHERE " + name + " > 0")
		}
	}
}

// write fills a database with the first release and kills it.
func (d *firstDatabase) write(t *testing.T, o *outside) {
	t.Helper()
	env, keep := []string{"SLUICE_WORKERS=4"}, d.keep
	if d.name == "postgres" {
		cfg := dbtest.EmptyPostgresConfig(t)
		env = append(env, "DATABASE_URL="+cfg.DatabaseURL, "SLUICE_MASTER_KEY="+cfg.MasterKey)
		keep = func(t *testing.T, _ *server) {
			postgresTool(t, "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--compress=9", "--file="+d.path(".sql.gz"), toolURL(t, cfg))
		}
	}
	s := stoppedServer(t, env...)
	s.program = releaseOf(t, firstRelease)
	s.start()
	names := firstNames{MadeAt: time.Now(), Flows: map[string]string{}, Runs: map[string]*run{}, Keys: map[string]string{}, Signing: map[string]string{}}
	if r := s.commandWith(passphrase+"\n", "user", "add", "--email", ownerEmail, "--password-stdin"); r.code != 0 {
		t.Fatal(r.errs)
	}
	if r := s.commandWith(firstSecret+"\n", "credential", "add", "--name", "sesame"); r.code != 0 {
		t.Fatal(r.errs)
	}
	for kind, doc := range map[string][]byte{
		"greet": greeting(),
		"hang":  twoCalls(o.URL+"/ok", o.URL+"/hang"),
		"later": calling(o.URL+"/later", object{"retry": object{"attempts": 20, "backoff_s": 60}}),
		"never": calling(o.URL + "/never"),
		"secret": documentOf("Secret", []object{
			node("knock", "http_request", object{"url": o.URL + "/secret", "headers": object{"Authorization": object{"credential": "sesame"}}}), output("got"),
		}, "knock.body > out_got.value"),
		"typed": documentOf("Typed", []object{
			input("n"), output("got"), node("hook", "webhook", object{"url": o.URL + "/hook/typed"}),
		}, "n.value > out_got.value"),
		"hook": documentOf("Hook", []object{
			input("n"), output("got"), node("hook", "webhook", object{"url": o.URL + "/hook/{{n}}"}),
		}, "n.value > out_got.value", "n.value > hook.n"),
	} {
		names.Flows[kind] = s.publish(doc)
		names.Signing[kind] = strings.TrimSpace(s.must("flow", "secret", names.Flows[kind]))
	}
	names.Keys["all"] = s.manager()
	names.Keys["read"] = s.key("--scope", "read")
	names.Keys["revoked"] = s.key()
	names.Keys["greet"] = s.key("--flow", names.Flows["greet"])
	names.Keys["rolled"] = s.key("--name", "rolled")
	var listed []struct{ ID, Name, Prefix string }
	if err := json.Unmarshal([]byte(s.must("key", "list", "--json")), &listed); err != nil {
		t.Fatal(err)
	}
	for _, k := range listed {
		if strings.HasPrefix(names.Keys["revoked"], k.Prefix) {
			s.must("key", "revoke", k.ID)
		}
		if strings.HasPrefix(names.Keys["rolled"], k.Prefix) {
			names.Keys["fresh"] = s.must("key", "roll", k.ID)
		}
	}
	c := s.client(names.Keys["all"])
	names.File, _ = c.send("first.txt", []byte(firstText)).object(t)["file"].(string)
	names.Runs["greeted"] = c.succeed(names.Flows["greet"], object{"name": "Ada"}, "Idempotency-Key: once")
	names.Runs["secret"] = c.succeed(names.Flows["secret"], object{})
	names.Runs["failed"] = c.await(c.start(names.Flows["never"], object{"n": "1"}))
	names.Runs["hooked"] = c.succeed(names.Flows["hook"], object{"n": "done"})
	waitUntil(t, "the webhook is delivered", func() bool { return len(o.hook("/hook/done")) == 1 })
	names.Runs["pending"] = c.succeed(names.Flows["hook"], object{"n": "later"})
	waitUntil(t, "the webhook failed", func() bool { return len(o.hook("/hook/later")) > 0 })
	names.Runs["waiting"] = c.start(names.Flows["later"], object{"n": "1"})
	canceled := c.start(names.Flows["hang"], object{"n": "0"})
	c.want(200, "POST", canceled.path()+"/cancel", nil)
	names.Runs["canceled"] = c.await(canceled)
	waitUntil(t, "the run waits", func() bool { return c.want(200, "GET", names.Runs["waiting"].path(), nil).run(t).Status == "waiting" })
	for _, n := range []string{"1", "2", "3", "4", "5", "6"} {
		names.Runs["open"+n] = c.start(names.Flows["hang"], object{"n": n})
	}
	waitUntil(t, "the calls hang", func() bool { return o.hanging() >= 4 })
	s.kill()
	keep(t, s)
	data, err := json.MarshalIndent(&names, "", "  ")
	if err == nil {
		err = os.WriteFile(d.path(".json"), append(data, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// hanging returns the number of steps whose call gets no response.
func (o *outside) hanging() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for call := range o.calls {
		if strings.HasPrefix(call, "/hang ") {
			n++
		}
	}
	return n
}

func firstOnSQLite() *firstDatabase {
	d := &firstDatabase{name: "sqlite", address: "127.83.17.1:18317"}
	d.keep = func(t *testing.T, s *server) {
		if r := runCommand(t, exec.Command("tar", "-c", "-z", "-f", d.path(".tar.gz"), "-C", s.dir, "--exclude=*.lock", ".")); r.code != 0 {
			t.Fatal(r.errs)
		}
	}
	d.restore = func(t *testing.T, dir string) ([]string, func(string) [][2]string) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if r := runCommand(t, exec.Command("tar", "-x", "-z", "-o", "-f", d.path(".tar.gz"), "-C", dir)); r.code != 0 {
			t.Fatal(r.errs)
		}
		return nil, func(statement string) [][2]string {
			t.Helper()
			db, err := sql.Open("sqlite3", filepath.Join(dir, "sluice.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if statement == "columns" {
				statement = `SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
					WHERE m.type = 'table' AND c.type = 'BIGINT' AND m.name NOT LIKE 'river%' AND m.name NOT LIKE 'goose%'`
			}
			rows, err := db.Query(statement)
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			defer rows.Close()
			var list [][2]string
			for rows.Next() {
				var pair [2]string
				if err := rows.Scan(&pair[0], &pair[1]); err != nil {
					t.Fatal(err)
				}
				list = append(list, pair)
			}
			return list
		}
	}
	return d
}

func firstOnPostgres() *firstDatabase {
	d := &firstDatabase{name: "postgres", address: "127.83.17.2:18317"}
	d.restore = func(t *testing.T, dir string) ([]string, func(string) [][2]string) {
		cfg := dbtest.EmptyPostgresConfig(t)
		conn, err := pgx.Connect(t.Context(), toolURL(t, cfg))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		for statement := range strings.SplitSeq(gunzip(t, d.path(".sql.gz")), "\n\\") { // lines that only psql reads
			if strings.HasPrefix(statement, "restrict ") || strings.HasPrefix(statement, "unrestrict ") {
				_, statement, _ = strings.Cut(statement, "\n")
			}
			if _, err := conn.PgConn().Exec(t.Context(), statement).ReadAll(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Exec(t.Context(), "RESET search_path"); err != nil { // which the dump has set
			t.Fatal(err)
		}
		return []string{"DATABASE_URL=" + cfg.DatabaseURL, "SLUICE_MASTER_KEY=" + cfg.MasterKey}, func(statement string) [][2]string {
			t.Helper()
			if statement == "columns" {
				statement = `SELECT table_name, column_name FROM information_schema.columns
					WHERE table_schema = 'public' AND data_type = 'bigint' AND table_name NOT LIKE 'river%' AND table_name NOT LIKE 'goose%'`
			}
			results, err := conn.PgConn().Exec(t.Context(), statement).ReadAll()
			if err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			var list [][2]string
			for _, row := range results[0].Rows {
				list = append(list, [2]string{string(row[0]), string(row[1])})
			}
			return list
		}
	}
	return d
}
