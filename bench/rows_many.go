package main

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// The things of the workspace of the row many.
const (
	manyFlows, manyKeys, manyWorkspaces, manyCredentials = 5_000, 2_000, 500, 200
	manyDays, manyUsage                                  = 90, 200 // rows of usage each day
	manyBytes                                            = 100 << 10
)

// sized is a list with its times and the size of its answer.
type sized struct {
	measuredList
	bytes int
}

// many measures the pages and the answers of the API that list flows, keys, credentials, workspaces and usage, where there are
// very many of them, and the tools of MCP.
func (b *benchmark) many(on platform) {
	s := b.newFilled(on)
	defer s.kill()
	defer s.db.Close()
	s.key = must(s.command(nil, "key", "create", "--name", "bench", "--scope", "run,read,edit,manage,admin"))
	must(s.command([]byte(listPassword+"\n"), "user", "add", "--email", listEmail, "--password-stdin"))
	must(s.command([]byte("no secret"), "credential", "add", "--name", "bench", "--provider", "openai_compatible", "--base-url", "https://models.example.com/v1"))
	id := must(s.publish(working(false))) // uses a credential
	s.fillMany(id)
	s.cookie = s.signIn(listEmail, listPassword)
	var all []sized
	for _, l := range []list{
		{"flows", "/flows", "A flow"}, {"flows, searched", "/flows?q=number", "A flow"}, {"keys", "/keys", "A key"}, {"credentials", "/credentials", "bench"},
		{"workspaces", "/workspaces", "A workspace"}, {"usage of 90 days", "/usage?range=90", ""}, {"runs", "/runs", ""}, {"deliveries", "/deliveries", ""}, {"alarms", "/alarms", ""}, {"triggers", "/triggers", ""},
		{"API: flows", "/v1/flow?limit=100", `"flow_`}, {"API: keys", "/v1/keys?limit=100", `"key_`}, {"API: credentials", "/v1/credentials", `"bench"`}, {"API: workspaces", "/v1/workspaces", "default"},
		{"API: usage by key", "/v1/usage?by=key", ""}, {"API: usage by model", "/v1/usage?by=model", ""}, {"API: models", "/v1/models", `"data"`},
	} {
		all = append(all, s.sized(l, nil))
	}
	tools := head("POST", "/mcp", s.key, "Accept: application/json, text/event-stream")
	all = append(all, s.sized(list{name: "tools of MCP", has: `"tools"`}, func(w *httpConn) (int, []byte, error) {
		return w.post(tools, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`))
	}))
	slices.SortFunc(all, func(a, b sized) int { return cmp.Compare(b.percentile(.95), a.percentile(.95)) })
	largest := slices.MaxFunc(all, func(a, b sized) int { return cmp.Compare(a.bytes, b.bytes) })
	slow := []string{}
	for _, l := range all[:3] {
		slow = append(slow, fmt.Sprintf("%s p50 %s, p95 %s", l.name, ms(l.percentile(.5)), ms(l.percentile(.95))))
	}
	inTime := 0
	for _, l := range all {
		if l.percentile(.95) <= listLimit {
			inTime++
		}
	}
	b.add(fmt.Sprintf("%d lists beside %s flows, %s keys, %d workspaces and %d days of usage, %s", len(all), count(manyFlows), count(manyKeys), manyWorkspaces, manyDays, on.title()),
		fmt.Sprintf("slowest: %s; largest: %s, %d KiB", strings.Join(slow, "; "), largest.name, largest.bytes>>10), "p95 ≤ 100 ms and ≤ 100 KiB each",
		fmt.Sprintf("%d of %d within %s", inTime, len(all), ms(listLimit)))
	check(s.stop())
}

// sized measures a list. get requests it; nil stands for a GET of its path.
func (s *filled) sized(l list, get func(w *httpConn) (int, []byte, error)) sized {
	if get == nil {
		auth := "Cookie: " + s.cookie
		if strings.HasPrefix(l.path, "/v1/") {
			auth = "Authorization: Bearer " + s.key
		}
		request := []byte("GET " + l.path + " HTTP/1.1\r\nHost: " + s.addr + "\r\n" + auth + "\r\n")
		get = func(w *httpConn) (int, []byte, error) { return w.get(request) }
	}
	bytes := 0
	times := must(s.measureCall(func(w *httpConn, _, _ int) error {
		status, body, err := get(w)
		bytes = len(body)
		if err == nil && (status != http.StatusOK || !strings.Contains(string(body), l.has)) {
			err = fmt.Errorf("%s: status %d, without %q: %.300s", l.name, status, l.has, body)
		}
		return err
	}))
	fmt.Fprintf(os.Stderr, "    %-36s p50 %9s  p95 %9s  %7d bytes\n", l.name, ms(times.percentile(.5)), ms(times.percentile(.95)), bytes)
	return sized{measuredList{l.name, times}, bytes}
}

// fillMany copies the flow, the key, the workspace and the credential, and inserts usage.
func (s *filled) fillMany(flowID string) {
	number := func(prefix string) string {
		return "'" + prefix + "0000000000000' || substr(CAST(10000000000000 + i AS TEXT), 2)"
	}
	s.copies(manyFlows, "flows", "id = '"+flowID+"'", map[string]string{"id": number("flow_"), "name": "'A flow with a rather long name, number ' || i", "slug": "'many-' || i"})
	s.copies(manyFlows, "versions", "flow_id = '"+flowID+"'", map[string]string{"flow_id": number("flow_")})
	s.copies(manyKeys, "keys", "name = 'bench'", map[string]string{"id": number("key_"), "name": "'A key with a rather long name, number ' || i", "hash": "'hash ' || i", "runs_per_day": "i"})
	s.copies(manyWorkspaces, "workspaces", "id = 'default'", map[string]string{"id": number("ws_"), "name": "'A workspace with a rather long name, number ' || i"})
	s.copies(manyWorkspaces, "members", "workspace_id = 'default'", map[string]string{"workspace_id": number("ws_")})
	s.copies(manyCredentials, "credentials", "name = 'bench'", map[string]string{"id": number("cred_"), "name": "'bench-' || i", "provider": "''"})
	today := time.Now().UTC()
	tx := must(s.db.Begin())
	defer tx.Rollback()
	for day := range manyDays {
		must(tx.Exec(s.statement(`INSERT INTO usage_daily (workspace_id, day, key_id, flow_id, model, bucket, runs, succeeded, failed, canceled, steps, input_tokens, output_tokens, cost_nano_usd, duration)
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1)
SELECT 'default', CAST($2 AS TEXT), 'key_0000000000000' || substr(CAST(10000000000000 + i * 10 AS TEXT), 2), 'flow_0000000000000' || substr(CAST(10000000000000 + i * 25 AS TEXT), 2),
'openai/model-' || (i % 20), i % 20, 10, 9, 1, 0, 30, 1000, 100, 1000000, 5000 FROM n`), manyUsage, today.AddDate(0, 0, -day).Format(time.DateOnly)))
	}
	check(tx.Commit())
	if s.postgres {
		must(s.db.Exec("VACUUM ANALYZE"))
	}
}

// copies inserts n copies of a row, in which some columns are expressions over i.
func (s *filled) copies(n int, table, where string, columns map[string]string) {
	rows := must(s.db.Query("SELECT * FROM " + table + " LIMIT 0"))
	names := must(rows.Columns())
	check(cmp.Or(rows.Err(), rows.Close()))
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = cmp.Or(columns[name], "r."+name)
	}
	var done sql.Result = must(s.db.Exec(fmt.Sprintf("INSERT INTO %s (%s) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %d) SELECT %s FROM n, (SELECT * FROM %s WHERE %s LIMIT 1) r",
		table, strings.Join(names, ", "), n, strings.Join(values, ", "), table, where)))
	if got := must(done.RowsAffected()); got != int64(n) {
		check(errors.New("there is no row of " + table + " to copy"))
	}
}
