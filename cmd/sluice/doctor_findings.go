package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sluice/db"
	"sluice/flow"
)

// What counts as little or much.
const (
	littleSpace = 1 << 30         // bytes free on the disk
	largeLog    = 256 << 20       // bytes; SQLite folds it back every 16 MiB
	fewFiles    = 4096            // open files; each connection is one
	muchSkew    = 2 * time.Second // between this clock and the database's
	soonEnough  = 3 * time.Second // for an address to answer
)

// examine looks at everything there is to look at.
func (c *Config) examine(ctx context.Context) findings {
	var f findings
	if err := c.check(); err != nil {
		f.add("configuration", wrong, "", "%v", err)
		return f
	}
	f.add("configuration", fine, "", "It can be read.")
	c.examineDirectory(&f)
	c.examineSystem(&f)
	c.examineAddress(ctx, &f)
	running := c.examineServer(ctx, &f)
	if err := c.needDatabase(); err != nil {
		f.add("database", notice, "The first start makes one.", "There is none yet in %s.", c.DataDir)
		return f
	}
	store, err := db.Open(ctx, c.database(slog.New(slog.DiscardHandler)))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n") // drivers list every address they tried
		f.add("database", wrong, "", "%s", first)
		return f
	}
	defer store.Close()
	f.add("master key", fine, "Keep a copy apart from the backups: without it no stored secret can be read.", "It is %s and fits the database.", c.keyPlace())
	c.examineKeyFile(&f)
	e, err := store.Examine(ctx)
	if err != nil {
		f.add("database", wrong, "", "%v", err)
		return f
	}
	f.database(e)
	f.work(e, running)
	return f
}

func (c *Config) examineDirectory(f *findings) {
	info, err := os.Stat(c.DataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.add("data directory", notice, "The first start makes it.", "%s is not there.", c.DataDir)
		return
	case err != nil:
		f.add("data directory", wrong, "", "%v", err)
		return
	case info.Mode().Perm()&0o077 != 0:
		f.add("data directory", notice, "chmod 700 "+c.DataDir, "Others on this machine may look into %s.", c.DataDir)
	default:
		f.add("data directory", fine, "", "%s belongs to its user alone.", c.DataDir)
	}
	if unix.Access(c.DataDir, unix.W_OK) != nil {
		f.add("data directory", wrong, "Give it to the user that Sluice runs as.", "%s cannot be written to.", c.DataDir)
	}
	var disk unix.Statfs_t
	if unix.Statfs(c.DataDir, &disk) == nil {
		free := int64(disk.Bavail) * int64(disk.Bsize)
		state, advice := fine, ""
		if free < littleSpace {
			state, advice = wrong, "Make room, or shorten SLUICE_RETENTION: on a full disk new runs are refused with storage_full."
		}
		f.add("disk", state, advice, "%s are free.", flow.Size(free))
	}
}

func (c *Config) examineKeyFile(f *findings) {
	path := c.MasterKeyFile
	if path == "" {
		path = filepath.Join(c.DataDir, db.KeyFile)
	}
	if info, err := os.Stat(path); c.MasterKey == "" && err == nil && info.Mode().Perm()&0o077 != 0 {
		f.add("master key", wrong, "chmod 600 "+path, "Others on this machine may read %s.", path)
	}
}

func (c *Config) examineSystem(f *findings) {
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur < fewFiles {
		f.add("open files", notice, "ulimit -n 65536, or LimitNOFILE=65536 in the service.", "This process may have %d at once, and each connection is one.", limit.Cur)
	}
}

// examineAddress looks at how the outside reaches Sluice.
func (c *Config) examineAddress(ctx context.Context, f *findings) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		f.add("address", wrong, "Write SLUICE_ADDR as HOST:PORT, such as 127.0.0.1:8080.", "%q is no address to listen on.", c.Addr)
		return
	}
	ip, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && ip.IsLoopback()
	switch u, _ := url.Parse(c.PublicURL); {
	case c.PublicURL == "" && local:
		f.add("address", fine, "", "Only this machine reaches %s.", c.Addr)
	case c.PublicURL == "":
		f.add("address", wrong, "Set SLUICE_PUBLIC_URL to how the outside reaches it, such as https://sluice.example.com.", "It listens for others on %s, and its answers would name an address that they cannot use.", c.Addr)
	case u.Scheme != "https" && !strings.HasPrefix(u.Host, "127.") && u.Hostname() != "localhost":
		f.add("address", wrong, "Put https in front; docs/deploy.md shows how.", "%s is not encrypted: sessions and keys can be read on the way.", c.PublicURL)
	default:
		f.add("address", fine, "", "The outside reaches it at %s.", c.PublicURL)
	}
	if c.PublicURL == "" {
		return
	}
	if strings.HasPrefix(c.PublicURL, "https:") && c.Proxies == "" {
		f.add("proxy", notice, "Set SLUICE_TRUSTED_PROXIES to the proxy's address.", "What speaks https in front of Sluice is not trusted to say who asks, so all people count as one address.")
	}
	if err := answers(ctx, c.PublicURL, "/livez"); err != nil {
		f.add("public address", notice, "It may still answer others: some networks do not lead back to themselves.", "%s does not answer from here.", c.PublicURL)
	}
}

// answers asks an address that needs no key.
func answers(ctx context.Context, base, path string) error {
	ctx, cancel := context.WithTimeout(ctx, soonEnough)
	defer cancel()
	resp, err := (&apiClient{base: strings.TrimRight(base, "/")}).do(ctx, "GET", path, "application/json", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *Config) examineServer(ctx context.Context, f *findings) bool {
	info, running, err := db.ReadEngine(c.DataDir)
	switch {
	case err != nil:
		f.add("server", wrong, "", "%v", err)
	case !running:
		f.add("server", notice, "", "None runs on this data directory.")
	case answers(ctx, info.Addr, "/readyz") != nil:
		f.add("server", wrong, "Look at its log.", "Process %d has the data directory, and %s does not say that it is ready.", info.PID, info.Addr)
	default:
		f.add("server", fine, "", "Process %d is ready at %s.", info.PID, info.Addr)
	}
	return running
}

// database says how the database is.
func (f *findings) database(e db.Examination) {
	if e.Damage != "" {
		f.add("database", wrong, "Stop the server and restore the last backup.", "It is damaged: %s", e.Damage)
	} else {
		f.add("database", fine, "", "%s, %s, sound.", e.Engine, flow.Size(e.Size))
	}
	if e.Log > largeLog {
		f.add("write-ahead log", notice, "A reader that never ends, such as another program with the database open, keeps it from being folded back.", "It has grown to %s.", flow.Size(e.Log))
	}
	if e.Skew.Abs() > muchSkew {
		f.add("clock", notice, "Let both follow a time server.", "This machine's clock and the database's are %s apart.", e.Skew.Round(time.Millisecond))
	}
	if e.Missing > 0 {
		f.add("files", wrong, "Restore the directory files from a backup or a snapshot of the disk.", "The content of %d of %d files is not there.", e.Missing, e.Files)
	} else {
		f.add("files", fine, "", "%d, all with their content.", e.Files)
	}
}

// work says what is under way and what needs somebody.
func (f *findings) work(e db.Examination, running bool) {
	if !e.Owned {
		f.add("owner", notice, "Open the set-up link that the server prints, or use 'sluice user add'.", "Nobody has an account yet.")
	}
	open := e.Open[flow.RunQueued] + e.Open[flow.RunRunning] + e.Open[flow.RunWaiting]
	state, advice := fine, ""
	if open > 0 && !running {
		state, advice = notice, "They go on when the server starts."
	}
	f.add("runs", state, advice, "%d queued, %d running, %d waiting.", e.Open[flow.RunQueued], e.Open[flow.RunRunning], e.Open[flow.RunWaiting])
	state, advice = fine, ""
	if e.Failed > 0 {
		state, advice = notice, "The page Deliveries says why, and sends them again."
	}
	f.add("webhooks", state, advice, "%d are being tried, %d failed in the last day.", e.Pending, e.Failed)
	if e.ExpiringKeys > 0 {
		f.add("keys", notice, "Roll them: 'sluice key list' shows which.", "%s in use.", count(e.ExpiringKeys, "key that expires within a week is", "keys that expire within a week are"))
	}
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
