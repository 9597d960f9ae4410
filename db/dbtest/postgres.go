package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/db"
)

// postgres is a private server of this test process: on a socket in a
// temporary directory, without syncing, gone with the process.
type postgres struct {
	mu     sync.Mutex
	tried  bool
	err    error
	dir    string
	cred   *syscall.Credential // of the server; nil for that of this process
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	admin  *pgx.Conn
	output output
	made   int
	free   []string // databases that are empty again
}

var server postgres

// templateName is the migrated database that every test's own is copied from.
const templateName = "sluice_template"

func (p *postgres) installed() bool { return program("initdb") != "" && program("postgres") != "" }

// program finds a server program where distributions put it, newest first.
func program(name string) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	slices.Sort(found)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, _ := exec.LookPath(name)
	return path
}

func (p *postgres) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tried {
		p.tried, p.err = true, p.launch()
	}
	return p.err
}

func (p *postgres) launch() error {
	if err := p.prepare(); err != nil {
		return err
	}
	data := filepath.Join(p.dir, "data")
	if err := p.initialize(data); err != nil {
		return err
	}
	if err := p.serve(data); err != nil {
		return err
	}
	return p.makeTemplate()
}

// prepare makes the directory of the socket, and gives it and the others to
// the user that the server runs as.
func (p *postgres) prepare(others ...string) (err error) {
	if p.dir, err = os.MkdirTemp("", "sluice-pg-"); err != nil {
		return err
	}
	for _, dir := range append(others, p.dir) {
		if p.cred, err = unprivileged(dir); err != nil {
			return err
		}
	}
	return nil
}

// initialize makes a data directory, with more options of initdb.
func (p *postgres) initialize(data string, more ...string) error {
	args := []string{"-D", data, "-U", "sluice", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"}
	if out, err := p.command("initdb", append(args, more...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// serve starts the server on a data directory, with more settings ("name=value").
func (p *postgres) serve(data string, settings ...string) error {
	args := []string{"-D", data, "-k", p.dir, "-h", "", "-F"}
	for _, setting := range append([]string{"max_connections=500", "full_page_writes=off", "shared_buffers=64MB"}, settings...) {
		args = append(args, "-c", setting)
	}
	cmd, exited := p.command("postgres", args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	// Children of a server that was killed may hold its output for a moment.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	go func() {
		_ = cmd.Wait() // its exit code says how it was stopped
		close(exited)
	}()
	p.cmd, p.exited = cmd, exited
	return nil
}

// end sends the server a signal and returns when it is gone.
func (p *postgres) end(sig syscall.Signal) {
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig)
		<-p.exited
	}
}

func (p *postgres) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(program(name), args...)
	cmd.Dir = p.dir
	// Should this process be killed, the server must not stay behind.
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.cred, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// output keeps what a server prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write takes output of the server.
func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(data)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// unprivileged finds somebody to run the server as, since it refuses root, and
// gives them the directory.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, os.Chown(dir, uid, gid)
	}
	return nil, fmt.Errorf("there is no user postgres or nobody to run the server as")
}

// makeTemplate waits for the server and migrates the template in it.
func (p *postgres) makeTemplate() (err error) {
	ctx := context.Background()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if p.admin, err = pgx.Connect(ctx, p.address("postgres")); err == nil {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no connection after 30 s: %w\n%s", err, p.output.String())
		}
	}
	// A language's collation, where there is one, sorts unlike SQLite does.
	const english = " TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
	if _, err := p.admin.Exec(ctx, "CREATE DATABASE "+templateName+english); err != nil {
		if _, err := p.admin.Exec(ctx, "CREATE DATABASE "+templateName); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "sluice-template-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := db.Open(ctx, db.Config{DataDir: dir, DatabaseURL: p.url(templateName), MasterKey: masterKey})
	if err != nil {
		return fmt.Errorf("migrate the template: %w", err)
	}
	return s.Close()
}

// take gives a test an empty database. One that another test is done with is
// emptied and used again, since making one takes longer than most tests.
func (p *postgres) take() (name string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		name, p.free = p.free[n-1], p.free[:n-1]
		return name, nil
	}
	p.made++
	name = fmt.Sprintf("test%d", p.made)
	_, err = p.admin.Exec(context.Background(), "CREATE DATABASE "+name+" TEMPLATE "+templateName)
	return name, err
}

// giveBack empties a database. One that cannot be emptied is left alone.
func (p *postgres) giveBack(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.address(name))
	if err != nil {
		return
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, emptyAll); err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, name)
}

// emptyAll deletes everything but what migrations and the master key left.
// Deleting a few rows is faster than truncating, but of many it leaves a table
// full of dead ones to the next test.
const emptyAll = `SET lock_timeout = '2s';
DO $$ DECLARE t text; BEGIN
	FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
		AND tablename NOT IN ('meta', 'goose_db_version', 'river_migration') LOOP
		EXECUTE CASE WHEN pg_relation_size(t::regclass) > 1000000 THEN 'TRUNCATE ' ELSE 'DELETE FROM ' END || quote_ident(t);
	END LOOP;
END $$`

func (p *postgres) address(database string) string {
	return "postgres://sluice@/" + database + "?host=" + url.QueryEscape(p.dir)
}

// url is the address for a store, whose pool stays small: many tests share the server.
func (p *postgres) url(database string) string { return p.address(database) + "&pool_max_conns=12" }

func (p *postgres) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.admin != nil {
		_ = p.admin.Close(context.Background())
	}
	p.end(syscall.SIGINT) // fast shutdown
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}
