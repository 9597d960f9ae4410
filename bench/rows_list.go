package main

import (
	"bytes"
	"cmp"
	"database/sql"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that fills PostgreSQL

	"sluice/flow"
)

const (
	listEmail    = "bench@example.com"
	listPassword = "a long phrase for the list of runs"
	listCalls    = 20                     // of each list
	listStarters = 8                      // callers who start runs beside all these
	listLimit    = 100 * time.Millisecond // p95 of each
)

// filled is a server with many runs, and direct access to its database.
type filled struct {
	*server
	db       *sql.DB
	postgres bool
	key      string           // secret of an API key
	cookie   string           // of a dashboard session
	ws       flow.WorkspaceID // ID of the workspace
	end      time.Time        // when the newest run was accepted
}

// lists measures lists of runs on a server with very many of them. Filters combine
// freely, so no set of indexes serves all of them; the row finds combinations for which the
// database would read the whole table.
func (b *benchmark) lists(on platform) {
	s := b.newFilled(on)
	defer s.kill()
	defer s.db.Close()
	start := time.Now()
	s.fill(b.runs)
	fmt.Fprintf(os.Stderr, "  %s: filled with %d runs in %s\n", on.title(), b.runs, time.Since(start).Round(time.Second))
	var all []measuredList
	for _, l := range s.lists() {
		one, err := s.measure(l)
		if err != nil {
			fmt.Fprintf(os.Stderr, "    %s: %v\n", l.name, err)
			b.errors++
			continue
		}
		fmt.Fprintf(os.Stderr, "    %-36s p50 %9s  p95 %9s\n", l.name, ms(one.percentile(.5)), ms(one.percentile(.95)))
		all = append(all, measuredList{l.name, one})
	}
	if len(all) == 0 {
		check(errors.New("no list was correct"))
	}
	slices.SortFunc(all, func(a, b measuredList) int { return cmp.Compare(b.percentile(.95), a.percentile(.95)) })
	slow := []string{}
	for _, t := range all[:min(3, len(all))] {
		slow = append(slow, fmt.Sprintf("%s p50 %s, p95 %s", t.name, ms(t.percentile(.5)), ms(t.percentile(.95))))
	}
	median := all[len(all)/2]
	b.add(fmt.Sprintf("%d lists of %s runs over HTTP, %s, one caller", len(all), count(float64(b.runs)), on.title()),
		fmt.Sprintf("median list p50 %s, p95 %s; slowest: %s", ms(median.percentile(.5)), ms(median.percentile(.95)), strings.Join(slow, "; ")),
		"p95 ≤ 100 ms each", fmt.Sprintf("%d of %d within %s", within(all), len(all), ms(listLimit)))
	b.startsBeside(on, s)
	check(s.stop())
}

// startsBeside compares runs on the filled server with those on an empty one, by turns.
func (b *benchmark) startsBeside(on platform, s *filled) {
	empty := must(b.newServer(on.env(b)...))
	defer empty.kill()
	servers, calls, samples := []*server{s.server, empty}, []call{}, [2][]*sample{}
	for _, server := range servers {
		id, key := server.prepare(greeting())
		calls = append(calls, waiting(id, key, greeted))
		must(requireCorrect(drive([]string{server.addr}, listStarters, warmUp, 0, calls[len(calls)-1])))
	}
	for range b.rounds {
		for i, server := range servers {
			samples[i] = append(samples[i], &sample{load: must(requireCorrect(drive([]string{server.addr}, listStarters, b.seconds/time.Duration(b.rounds), 0, calls[i])))})
		}
	}
	b.add(fmt.Sprintf("runs of %d callers beside %s ended runs, %s, in those of an empty database", listStarters, count(float64(b.runs)), on.title()),
		fmt.Sprintf("p50 %s, runs/s %s", ratio(samples[0], samples[1], func(m *sample) float64 { return float64(m.percentile(.5)) }), ratio(samples[0], samples[1], rateOf)), "p50 ≤ 1.1 ×", "")
	check(empty.stop())
}

// newFilled starts a server and opens its database.
func (b *benchmark) newFilled(on platform) *filled {
	if on.postgres {
		url := b.database()
		return &filled{server: must(b.newServer("DATABASE_URL=" + url)), db: must(sql.Open("pgx", url)), postgres: true}
	}
	s := must(b.newServer())
	return &filled{server: s, db: must(sql.Open("sqlite3", "file:"+s.dir+"/sluice.db?_journal_mode=WAL&_synchronous=OFF&_busy_timeout=60000&_txlock=immediate"))}
}

// measuredList is a list and the times of its requests.
type measuredList struct {
	name string
	*load
}

// within counts the lists whose 95th percentile is within listLimit. It is the figure to
// watch: one slow list is not visible in a median over all of them.
func within(all []measuredList) (n int) {
	for _, t := range all {
		if t.percentile(.95) <= listLimit {
			n++
		}
	}
	return n
}

// measure requests a list listCalls times, after one request that is not measured.
func (s *filled) measure(l list) (*load, error) {
	auth := "Cookie: " + s.cookie
	if strings.HasPrefix(l.path, "/v1/") {
		auth = "Authorization: Bearer " + s.key
	}
	request := []byte("GET " + l.path + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + auth + "\r\n")
	call := func(w *httpConn, _, _ int) error {
		status, body, err := w.get(request)
		if err != nil || status != http.StatusOK || !bytes.Contains(body, []byte(l.has)) {
			return cmp.Or(err, fmt.Errorf("status %d, %d bytes without %q", status, len(body), l.has))
		}
		return nil
	}
	return s.measureCall(call)
}

// measureCall makes a call listCalls times, after one that is not measured.
func (s *server) measureCall(do call) (*load, error) {
	if l, err := requireCorrect(drive([]string{s.addr}, 1, 0, 1, do)); err != nil {
		return l, err
	}
	return requireCorrect(drive([]string{s.addr}, 1, 0, listCalls, do))
}

// list is a list of runs: its path and a text that the response must contain.
type list struct{ name, path, has string }

// runID returns an ID that sorts among those of runs created at a time, for use as a
// cursor. No run has it.
func runID(at time.Time) string { return "run_" + base32Time(at) + "0000000000000000" }

// base32Time returns the first 10 characters of an ID: milliseconds since 1970.
func base32Time(at time.Time) string {
	text := make([]byte, 10)
	for i, n := len(text)-1, at.UnixMilli(); i >= 0; i, n = i-1, n/32 {
		text[i] = crockford[n%32]
	}
	return string(text)
}

// crockford is the alphabet of IDs. Its order is that of the digits, so IDs sort by time.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// listFlow returns the ID of the nth flow, in the order of activity: 0 is the busiest.
func listFlow(n int) string { return fmt.Sprintf("flow_0%013d000000000000", n) }

// listKey returns the ID of the nth key.
func listKey(n int) string { return fmt.Sprintf("key_000000000000000000000000%02d", n) }

// lists returns lists that users commonly request, and lists that are expensive:
// filters with few or no matches, and pages far down.
func (s *filled) lists() []list {
	day := 24 * time.Hour
	deep := "&after=" + runID(s.end.Add(-20*day))
	custom := func(from, until time.Duration) string {
		const form = "2006-01-02T15:04"
		return "&time=custom&from=" + s.end.Add(-from).UTC().Format(form) + "&until=" + s.end.Add(-until).UTC().Format(form)
	}
	none := "No runs match"
	some := `href="/runs/run_`
	var all []list
	page := func(name, query, has string) {
		all = append(all, list{"page: " + name, "/runs?" + query, has})
	}
	busy, calm, stopped := "&flow="+listFlow(0), "&flow="+listFlow(199), "&flow="+listFlow(155)
	page("all", "", some)
	page("all, deep", deep, some)
	page("all, newer than deep", "before="+runID(s.end.Add(-20*day)), some)
	for _, state := range []string{"queued", "running", "waiting", "succeeded", "failed", "canceled"} {
		page(state, "state="+state, some)
	}
	page("failed, deep", "state=failed"+deep, some)
	page("open", "state=queued&state=running&state=waiting", some)
	page("failed or canceled", "state=failed&state=canceled", some)
	page("busy flow", busy, some)
	page("calm flow", calm, some)
	page("calm flow, deep", calm+deep, some)
	page("stopped flow", stopped, some)
	page("busy flow, failed: none", busy+"&state=failed", none)
	page("stopped flow, failed", stopped+"&state=failed", some)
	page("key", "key="+listKey(7), some)
	page("key, deep", "key="+listKey(7)+deep, some)
	page("old key", "key="+listKey(99), some)
	page("old key, failed: none", "key="+listKey(99)+"&state=waiting", none)
	page("unknown key: none", "key="+listKey(55), none)
	page("busy flow, key of others: none", busy+"&key="+listKey(20), none)
	for _, trigger := range []string{"api", "builder", "form", "mcp", "rerun"} {
		page("trigger "+trigger, "trigger="+trigger, some)
	}
	page("trigger cli: none", "trigger=cli", none)
	page("trigger form, failed: none", "trigger=form&state=canceled", none)
	page("drafts", "version=draft", some)
	page("drafts, failed", "version=draft&state=failed", some)
	page("version 1 of a busy flow", "version=1&flow="+listFlow(1), some)
	page("version 1 of another", "version=1&flow="+listFlow(11), some)
	page("version 99 of the busiest: none", "version=99"+busy, none)
	page("version 1 of a flow, key, failed", "version=1&flow="+listFlow(11)+"&state=failed&key="+listKey(17), some)
	for _, span := range []string{"1h", "24h", "7d", "30d"} {
		page("last "+span, "time="+span, some)
	}
	page("a day long ago", custom(20*day, 19*day), some)
	page("a day long ago, failed", "state=failed"+custom(20*day, 19*day), some)
	page("7d, old key: none", "time=7d&key="+listKey(99), none)
	page("7d, form: none", "time=7d&trigger=form", none)
	page("7d, stopped flow: none", "time=7d"+stopped, none)
	page("hour long ago, mcp, failed", "state=failed&trigger=mcp"+custom(20*day, 20*day-2*time.Hour), "")
	page("text: frequent word", "q=printer", some)
	page("text: in metadata", "q="+url.QueryEscape("customer 77"), "Looked at")
	page("text: rare word", "q=marzipan", "Looked at")
	page("text: word of the oldest", "q=zanzibar", "Looked at")
	page("text: nowhere", "q=nowhere+to+be+found", "Looked at")
	page("text: nowhere in failed", "state=failed&q=nowhere+to+be+found", "Looked at")
	page("text: nowhere in calm flow", calm+"&q=nowhere+to+be+found", "Looked at")
	page("text: nowhere in old key", "key="+listKey(99)+"&q=nowhere+to+be+found", "Looked at")
	for name, flow := range map[string]string{"busy": listFlow(0), "calm": listFlow(199), "stopped": listFlow(155)} {
		all = append(all, list{"versions of " + name + " flow", "/flows/" + flow + "/versions", ""}, list{"api page of " + name + " flow", "/flows/" + flow + "/api", ""})
	}
	api := func(name, flow, query, has string) {
		all = append(all, list{"API: " + name, "/v1/flow/" + flow + "/runs?" + query, has})
	}
	run, empty := `"run_id":"run_`, `"runs":[]`
	since := func(name string, d time.Duration) string {
		return "&" + name + "=" + url.QueryEscape(s.end.Add(-d).UTC().Format(time.RFC3339))
	}
	api("busy flow", listFlow(0), "", run)
	api("busy flow, 100", listFlow(0), "limit=100", run)
	api("busy flow, 100, deep", listFlow(0), "limit=100&cursor="+base64.RawURLEncoding.EncodeToString([]byte(runID(s.end.Add(-20*day)))), run)
	api("calm flow, 100", listFlow(199), "limit=100", run)
	api("stopped flow, 100", listFlow(155), "limit=100", run)
	api("busy flow, failed: none", listFlow(0), "status=failed", empty)
	api("calm flow, failed", listFlow(199), "status=failed", run)
	api("busy flow, waiting", listFlow(0), "status=waiting", "")
	api("busy flow, a day long ago", listFlow(0), since("created_after", 20*day)+since("created_before", 19*day), run)
	api("stopped flow, last week: none", listFlow(155), since("created_after", 7*day), empty)
	return all
}

// listFill is the statement that inserts a range of runs.
//
//go:embed list_fill.sql
var listFill string

// fillChunk is the number of runs that one transaction inserts. SQLite has one writer, so
// the server waits for each transaction.
const fillChunk = 50_000

// fill creates a user, flows, keys and runs. Rows are inserted directly, because accepting
// a million runs over HTTP would take most of the time of the benchmark.
func (s *filled) fill(runs int) {
	s.key = must(s.server.key())
	must(s.command([]byte(listPassword+"\n"), "user", "add", "--email", listEmail, "--password-stdin"))
	s.cookie = s.signIn(listEmail, listPassword)
	id := must(s.publish(greeting()))
	check(s.db.QueryRow("SELECT workspace_id FROM flows").Scan(&s.ws))
	s.end = time.Now().Truncate(time.Second)
	s.fillFlows(id)
	text := s.statement(listFill)
	for at := 0; at < runs; at += fillChunk {
		must(s.db.Exec(text, at, min(at+fillChunk, runs), runs, s.end.UnixMicro(), s.ws))
	}
	must(s.db.Exec(s.statement(fillSteps), runs/50))
	if s.postgres { // as autovacuum does within minutes
		must(s.db.Exec("VACUUM ANALYZE"))
	}
}

// statement adapts SQL to the database. {{TIME}} becomes the first part of an ID.
func (s *filled) statement(text string) string {
	parts := make([]string, 10)
	for i := range parts {
		parts[i] = fmt.Sprintf("substr('%s', CAST(ms / %d %% 32 AS INTEGER) + 1, 1)", crockford, int64(1)<<(5*(9-i)))
	}
	text = strings.ReplaceAll(text, "{{TIME}}", strings.Join(parts, " || "))
	if !s.postgres {
		text = strings.ReplaceAll(text, "$", "?")
	}
	return text
}

// Flows and keys are copies of those that the command line created.
const (
	fillFlow = `INSERT INTO flows (id, workspace_id, name, description, tags, draft, rev, live_version, max_running, max_queued, signing, created_at, updated_at, archived_at)
SELECT CAST($2 AS TEXT), workspace_id, CAST($3 AS TEXT), description, tags, draft, rev, CAST($4 AS BIGINT), max_running, max_queued, signing, created_at, updated_at, archived_at FROM flows WHERE id = $1`
	fillVersion = `INSERT INTO versions (flow_id, number, workspace_id, document_hash, summary, created_by, created_at)
SELECT CAST($2 AS TEXT), CAST($3 AS BIGINT), workspace_id, document_hash, summary, created_by, created_at FROM versions WHERE flow_id = $1`
	fillKey = `INSERT INTO keys (id, workspace_id, name, prefix, hash, scopes, flows, rpm, concurrency, usd_per_day, run_trigger, created_by, created_at, expires_at, revoked_at, last_used_at, last_used_ip, uses)
SELECT CAST($1 AS TEXT), workspace_id, CAST($2 AS TEXT), prefix, CAST($2 AS TEXT), scopes, flows, rpm, concurrency, usd_per_day, run_trigger, created_by, created_at, expires_at, revoked_at, last_used_at, last_used_ip, uses FROM keys WHERE name = 'bench'`
	// Three steps for each of so many runs.
	fillSteps = `INSERT INTO steps (run_id, path, workspace_id, node, kind, state, attempt, failures, node_hash, input_hash, input_tokens, output_tokens, cost_nano_usd, seq, output_seq,
started_at, ended_at, wait_until, error, saved, input, outputs, attempts)
SELECT r.id, p.path, r.workspace_id, p.path, 'template', 'succeeded', 1, 0, '', '', 0, 0, 0, 1, 1, r.started_at, r.ended_at, 0, '', '', r.inputs, r.outputs, ''
FROM (SELECT * FROM runs ORDER BY id DESC LIMIT $1) r, (SELECT 'first' AS path UNION ALL SELECT 'second' UNION ALL SELECT 'third') p`
)

// fillFlows copies a flow and the key, so that there are 200 flows and 31 keys.
func (s *filled) fillFlows(from string) {
	tx := must(s.db.Begin())
	defer tx.Rollback()
	for i := range 200 {
		id, versions := listFlow(i), 1+i%12
		must(tx.Exec(s.statement(fillFlow), from, id, "Flow "+strconv.Itoa(i), versions))
		for v := range versions {
			must(tx.Exec(s.statement(fillVersion), from, id, v+1))
		}
	}
	for i := range 100 {
		if i >= 30 && i != 99 { // list_fill.sql uses only these
			continue
		}
		must(tx.Exec(s.statement(fillKey), listKey(i), "key "+strconv.Itoa(i)))
	}
	check(tx.Commit())
}

// signIn signs in to the dashboard and returns the session cookie.
func (s *server) signIn(email, password string) string {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp := must(client.PostForm("http://"+s.addr+"/sign-in", url.Values{"email": {email}, "password": {password}}))
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	for _, c := range resp.Cookies() {
		if strings.Contains(c.Name, "session") {
			return c.Name + "=" + c.Value
		}
	}
	panic(failure{fmt.Errorf("sign in: status %d: %.300s", resp.StatusCode, body)})
}
