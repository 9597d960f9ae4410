package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/sorting"
	"sluice/handlers/admin"
)

// Thresholds of warnings.
const (
	// maxLogSize is the size of SQLite's write-ahead log in bytes from which doctor warns.
	// A checkpoint runs every 16 MiB, so a larger log means that checkpoints are blocked.
	maxLogSize = 256 << 20
	// maxClockSkew is the difference between this machine's clock and the database's from
	// which doctor warns.
	maxClockSkew = time.Second
	// probeTimeout bounds a request that checks whether an address responds.
	probeTimeout = 3 * time.Second
)

// examine runs all checks; those that take long only if the command asks for them. Each check relies on those before it, so examine returns early if
// later checks are pointless, such as those of the database if the directory is unreadable.
func (c *Config) examine(ctx context.Context, o doctorCmd) findings {
	var f findings
	if err := c.check(); err != nil {
		f.add("configuration", verdictBad, "", "%v", err)
		return f
	}
	f.add("configuration", verdictOK, "", "It can be read.")
	c.examineSystem(&f)
	f.reader(ctx)
	f.mail(ctx, c)
	f.files(ctx, c)
	f.signIn(ctx, c)
	f.proxy(ctx, c)
	f.traces(ctx, c)
	c.examineAddress(ctx, &f)
	if !c.examineDirectory(&f) {
		return f
	}
	running := c.examineServer(ctx, &f)
	if !running {
		c.examinePorts(&f)
	}
	c.examineKeyFile(&f)
	if err := c.needDatabase(); err != nil {
		f.add("database", verdictWarn, "The first start creates it.", "There is no database yet in %s.", c.DataDir)
		return f
	}
	store, err := db.Open(ctx, c.existing(slog.New(slog.DiscardHandler)))
	if errors.Is(err, db.ErrNoDatabase) {
		f.add("database", verdictWarn, "The first start creates them.", "The database in DATABASE_URL has no tables yet.")
		return f
	}
	if err != nil {
		f.databaseError(err)
		return f
	}
	defer store.Close()
	if err := bindCredentials(ctx, store, slog.New(slog.DiscardHandler)); err != nil {
		f.add("credentials", verdictBad, "", "%v", err)
	}
	f.add("master key", verdictOK, "Keep a copy separate from the backups: without it no stored secret can be read.", "It is %s and matches the database.", c.masterKeyLocation())
	e, err := store.Inspect(ctx)
	if err != nil {
		f.add("database", verdictBad, "", "%v", err)
		return f
	}
	f.database(e)
	f.growth(e, time.Duration(c.Retention), c.freeForDatabase())
	f.replica(e)
	f.work(e, running)
	if o.Files {
		f.contents(ctx, store)
	}
	f.quotas(ctx, store)
	c.examineCredentials(ctx, &f, store)
	f.budgets(ctx, store)
	f.triggers(ctx, store, running)
	f.knowledge(ctx, store, o.Knowledge)
	return f
}

// budgets reports keys and flows whose budget in dollars models without a price can exceed.
// Budgets from before prices existed allow that.
func (f *findings) budgets(ctx context.Context, store *db.Store) {
	keys, err := store.ListKeys(ctx, flow.DefaultWorkspace)
	flows, other := store.ListFlowHeads(ctx, flow.DefaultWorkspace)
	if err = cmp.Or(err, other); err != nil {
		f.add("budgets", verdictBad, "", "%v", err)
		return
	}
	for i := range flows {
		if l := &flows[i]; l.USDPerDay > 0 && l.AllowUnpriced && l.ArchivedAt.IsZero() {
			f.add("budgets", verdictWarn, "sluice flow limits "+string(l.ID)+" --allow-unpriced no", "The flow %s may use models whose price is unknown, which do not count towards its dollars a day.", l.Name)
		}
	}
	for i := range keys {
		if k := &keys[i]; k.USDPerDay > 0 && k.AllowUnpriced && k.RevokedAt.IsZero() {
			f.add("budgets", verdictWarn, "Turn it off under Keys.", "The key %s may use models whose price is unknown, which do not count towards its dollars a day.", k.Name)
		}
	}
}

// quotaWarnShare is the fraction of a quota at which doctor warns.
const quotaWarnShare = 0.9

// allStorage returns the storage and quotas of every workspace, ordered by ID. A server with open
// sign-up can have very many.
func allStorage(ctx context.Context, store *db.Store) (all []flow.WorkspaceStorage, err error) {
	const page = 500
	for after := ""; ; after = all[len(all)-1].ID {
		list, err := store.ListStorage(ctx, after, page)
		if err != nil {
			return nil, err
		}
		if all = append(all, list...); len(list) < page {
			return all, nil
		}
	}
}

// quotas reports the workspaces that have used most of a quota, fullest first, at most
// five of them: a server with open sign-up can have thousands.
func (f *findings) quotas(ctx context.Context, store *db.Store) {
	list, err := allStorage(ctx, store)
	if err != nil {
		f.add("quotas", verdictBad, "", "%v", err)
		return
	}
	share := func(ws *flow.WorkspaceStorage) float64 { s, _ := ws.Share(); return s }
	list = slices.DeleteFunc(list, func(ws flow.WorkspaceStorage) bool { return share(&ws) < quotaWarnShare })
	sorting.By(list, func(a, b flow.WorkspaceStorage) int { return cmp.Compare(share(&b), share(&a)) })
	for i := range list[:min(len(list), 5)] {
		_, kind := list[i].Share()
		unit := map[flow.QuotaUnit]string{flow.QuotaBytes: "", flow.QuotaFlows: " flows", flow.QuotaRuns: " kept runs"}[kind]
		f.add("quotas", verdictWarn, "sluice workspace limits set "+list[i].ID+" --"+string(kind)+" …", "%s (%s) uses %s%s.", list[i].Name, list[i].ID, quotaUse(&list[i], kind), unit)
	}
	if more := len(list) - 5; more > 0 {
		f.add("quotas", verdictWarn, "'sluice workspace limits list' shows all.", "%s.", count(int64(more), "more workspace has used 90 % of a quota", "more workspaces have used 90 % of a quota"))
	}
}

// quotaUse returns the use of one quota of a workspace with the quota, formatted as in the
// list of workspaces.
func quotaUse(ws *flow.WorkspaceStorage, kind flow.QuotaUnit) string {
	o := admin.WorkspaceObject(ws)
	switch kind {
	case flow.QuotaFlows:
		return usedOf(o.Flows, number)
	case flow.QuotaRuns:
		return usedOf(o.Runs, number)
	}
	return usedOf(o.Bytes, flow.Size)
}

// sharedKeyFile returns the path and mode of the master key if its group or others may
// read or change it, or "" if it is private or not in a file. A file of root that only the group of
// this process can read is private too: that is how Kubernetes mounts secrets for other users.
func (c *Config) sharedKeyFile() (path string, mode os.FileMode) {
	if c.MasterKey != "" || c.MasterKeyCommand != "" || runtime.GOOS == "windows" { // has no file modes
		return "", 0
	}
	path = cmp.Or(c.MasterKeyFile, filepath.Join(c.DataDir, db.KeyFile))
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return "", 0
	}
	if of, ok := info.Sys().(*syscall.Stat_t); ok && of.Uid == 0 && os.Geteuid() != 0 && int(of.Gid) == os.Getegid() && info.Mode().Perm()&0o037 == 0 {
		return "", 0
	}
	return path, info.Mode().Perm()
}

// examineKeyFile reports a master key that other users of the machine can read.
func (c *Config) examineKeyFile(f *findings) {
	if path, mode := c.sharedKeyFile(); path != "" {
		f.add("master key file", verdictBad, "chmod 600 "+path, "Other users of this machine can read %s (mode %04o). With it and the database they can read every secret.", path, mode)
	}
}

// warnSharedKeyFile logs what doctor reports about the master key file.
func (c *Config) warnSharedKeyFile(log *slog.Logger) {
	if path, mode := c.sharedKeyFile(); path != "" {
		log.Warn("other users of this machine can read the master key; fix it with 'chmod 600 "+path+"'", "file", path, "mode", fmt.Sprintf("%04o", mode))
	}
}

// examineAddress checks the public URL and the listening address, which determine who can
// connect and whether passwords and keys are encrypted in transit.
func (c *Config) examineAddress(ctx context.Context, f *findings) {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		f.add("address", verdictBad, "Write SLUICE_ADDR as HOST:PORT, such as 127.0.0.1:8080.", "%q is not an address to listen on.", c.Addr)
		return
	}
	if _, _, err := net.SplitHostPort(c.MetricsAddr); c.MetricsAddr != "" && err != nil {
		f.add("metrics", verdictBad, "Write SLUICE_METRICS_ADDR as HOST:PORT, such as 127.0.0.1:9091.", "%q is not an address to listen on.", c.MetricsAddr)
	}
	ip, err := netip.ParseAddr(host)
	local := host == "localhost" || err == nil && ip.IsLoopback()
	switch u, _ := url.Parse(c.PublicURL); {
	case c.PublicURL == "" && local:
		f.add("address", verdictOK, "", "Only this machine can reach %s.", c.Addr)
	case c.PublicURL == "":
		f.add("address", verdictBad, "Set SLUICE_PUBLIC_URL to the URL that clients use, such as https://sluice.example.com.", "It listens on %s for other machines, but its responses would contain an address that they cannot use.", c.Addr)
	case u.Scheme != "https" && !strings.HasPrefix(u.Host, "127.") && u.Hostname() != "localhost":
		f.add("address", verdictBad, "Put an HTTPS proxy in front; docs/deploy.md shows how.", "%s is not encrypted: sessions and keys can be read in transit.", c.PublicURL)
	default:
		f.add("address", verdictOK, "", "Clients reach it at %s.", c.PublicURL)
	}
	if c.PublicURL == "" {
		return
	}
	if strings.HasPrefix(c.PublicURL, "https:") && c.Proxies == "" {
		f.add("proxy", verdictWarn, "Set SLUICE_TRUSTED_PROXIES to the proxy's address.", "The HTTPS proxy in front of Sluice is not trusted to report client addresses, so all clients count as one.")
	}
	if err := probe(ctx, c.PublicURL, "/livez"); err != nil {
		f.add("public address", verdictWarn, "Clients may still reach it: some networks do not route such requests back.", "%s does not answer from here.", c.PublicURL)
	}
}

// databaseError reports why the database cannot be opened. Drivers print a line for each
// address they tried, and the last one has the cause. The report never contains the URL,
// which has the password.
func (f *findings) databaseError(err error) {
	if errors.Is(err, db.ErrPooler) {
		f.add("pooler", verdictBad, "Point DATABASE_URL at PostgreSQL itself, or set the pooler to session mode (pool_mode = session in PgBouncer).",
			"DATABASE_URL points at a connection pooler in transaction or statement mode, which Sluice does not support.")
		return
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	text, advice := lines[0], ""
	if len(lines) > 1 {
		text += " " + strings.TrimSpace(lines[len(lines)-1])
		advice = "Check DATABASE_URL, and that PostgreSQL runs and accepts connections from this machine."
	}
	f.add("database", verdictBad, advice, "%s", text)
}

// probe returns an error if a URL that needs no key does not respond within probeTimeout.
func probe(ctx context.Context, base, path string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	resp, err := (&client.Client{Base: strings.TrimRight(base, "/")}).Do(ctx, "GET", path, "application/json", nil)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// examineServer reports whether a server runs on the data directory and responds. On
// PostgreSQL that is the instance of this machine.
func (c *Config) examineServer(ctx context.Context, f *findings) bool {
	info, running, err := db.ReadEngine(c.DataDir)
	switch {
	case err != nil:
		f.add("server", verdictBad, "", "%v", err)
	case !running:
		f.add("server", verdictWarn, "", "No server runs on this data directory.")
	case probe(ctx, info.Addr, "/readyz") != nil:
		f.add("server", verdictBad, "See its log.", "Process %d uses the data directory, but %s is not ready.", info.PID, info.Addr)
	default:
		f.add("server", verdictOK, "", "Process %d is ready at %s.", info.PID, info.Addr)
	}
	return running
}

// database reports the state of the database.
func (f *findings) database(e db.Inspection) {
	switch {
	case e.Damage != "":
		f.add("database", verdictBad, "Stop the server and restore the last backup.", "It is damaged: %s", e.Damage)
	case len(e.Damaged) > 0: // below
		f.add("database", verdictOK, "", "%s, %s.", e.Engine, flow.Size(e.Size))
	default:
		f.add("database", verdictOK, "", "%s, %s, sound.", e.Engine, flow.Size(e.Size))
	}
	if e.Unused > 0 {
		f.add("unused pages", verdictWarn, "Run 'sluice backup', stop the server, and restore that backup with 'sluice restore --replace', which writes a new database file.",
			"%s space, such as after a damaged index was rebuilt.", count(int64(e.Unused), "page of the database wastes", "pages of the database waste"))
	}
	f.damaged(e.Damaged)
	if n := len(e.Unchecked); n > 0 {
		f.add("unchecked tables", verdictOK, "pg_dump reads all of them: pg_dump --file /dev/null \"$DATABASE_URL\"", "%s too large to be read here: %s.", count(int64(n), "table is", "tables are"), strings.Join(e.Unchecked, ", "))
	}
	if e.Pooler {
		f.add("pooler", verdictOK, "Its pool must be as large as the pools of all instances together.", "DATABASE_URL points at a connection pooler in session mode.")
	}
	if e.Log > maxLogSize {
		f.add("write-ahead log", verdictWarn, "A transaction that never ends, such as that of another program with the database open, prevents checkpoints.", "It has grown to %s.", flow.Size(e.Log))
	}
	if e.Skew.Abs() > maxClockSkew {
		f.add("clock", verdictWarn, "Synchronize both with a time server. Instances use the database's clock, so runs are not delayed, but times in logs differ.", "This machine's clock and the database's are %s apart.", e.Skew.Round(time.Millisecond))
	}
	if e.Missing > 0 {
		f.add("files", verdictBad, "Restore the directory files from a backup or a snapshot of the disk.", "The content of %d of %d files is missing.", e.Missing, e.Files)
	} else {
		f.add("files", verdictOK, "", "%d files, all with their content.", e.Files)
	}
}

// damaged reports rows, indexes and pages that were marked as damaged, or that Inspect found.
func (f *findings) damaged(list []flow.DamagedRow) {
	var indexes, pages, rows, tables []string
	for _, r := range list {
		to := &rows
		switch {
		case r.Task == db.IndexTask:
			to = &indexes
		case strings.Contains(r.ID, " "): // no ID has a space
			to = &pages
			tables = append(tables, r.Table)
		}
		*to = append(*to, fmt.Sprintf("%s %s (%s: %s)", r.Table, r.ID, r.Task, r.Error))
	}
	names := func(list []string) string { return strings.Join(list[:min(len(list), 5)], "; ") }
	if n := len(indexes); n > 0 {
		f.add("indexes", verdictBad, "An index that was rebuilt has lost nothing, but check the disk and the memory of the machine. If one could not be rebuilt, stop the server and restore the last backup.",
			"%s: %s", count(int64(n), "index was damaged in the last day", "indexes were damaged in the last day"), names(indexes))
	}
	if n := len(pages); n > 0 {
		slices.Sort(tables)
		f.add("tables", verdictBad, "Stop all instances and restore the last backup of PostgreSQL. To give up the rows of these pages instead, run as its superuser: "+
			giveUpPages(slices.Compact(tables))+" Then check the disk and the memory of the machine.",
			"%s, and all other rows are served: %s", count(int64(n), "page of a table is damaged. Its rows cannot be read", "pages of tables are damaged. Their rows cannot be read"), names(pages))
	}
	if n := len(rows); n > 0 {
		f.add("rows", verdictBad, "All other work continues, and they are tried again every day. If the database is damaged too, stop the server and restore the last backup; otherwise delete them, or report the error.",
			"%s: %s", count(int64(n), "row cannot be read or processed and is passed over", "rows cannot be read or processed and are passed over"), names(rows))
	}
}

// giveUpPages returns the statements that empty the damaged pages of tables.
func giveUpPages(tables []string) string {
	text := "SET zero_damaged_pages = on;"
	for _, t := range tables {
		text += fmt.Sprintf(" VACUUM FULL %s;", t)
	}
	return text
}

// work reports runs and deliveries in progress and failed deliveries. It warns of open runs
// without a running server, which nothing else reports.
func (f *findings) work(e db.Inspection, running bool) {
	if !e.Owned {
		f.add("owner", verdictWarn, "Open the set-up link that the server prints, or use 'sluice user add'.", "There is no account yet.")
	}
	open := e.Open[flow.RunQueued] + e.Open[flow.RunRunning] + e.Open[flow.RunWaiting]
	state, advice := verdictOK, ""
	if open > 0 && !running {
		state, advice = verdictWarn, "They continue when the server starts."
	}
	f.add("runs", state, advice, "%d queued, %d running, %d waiting.", e.Open[flow.RunQueued], e.Open[flow.RunRunning], e.Open[flow.RunWaiting])
	state, advice = verdictOK, ""
	if e.Failed > 0 {
		state, advice = verdictWarn, "The Deliveries page shows why and can resend them."
	}
	f.add("webhooks", state, advice, "%d are being tried, %d failed in the last day.", e.Pending, e.Failed)
	if e.ExpiringKeys > 0 {
		f.add("keys", verdictWarn, "Rotate them; 'sluice key list' shows which.", "%s in use.", count(e.ExpiringKeys, "key that expires within a week is", "keys that expire within a week are"))
	}
}

// count formats a number with the noun in singular or plural.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
