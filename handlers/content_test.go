package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/db"
	"sluice/db/backup"
	"sluice/db/dbtest"
	"sluice/db/dbtest/s3server"
	"sluice/flow"
	"sluice/flow/hooks"
	"sluice/flow/triggers"
	"sluice/handlers"
	"sluice/handlers/webtest"
	"sluice/outbound/s3"
)

// contentFree are the tables that cannot hold content of runs, with the reasons.
var contentFree = map[string]string{
	"alias_uses": "counts", "backtest_runs": "IDs and hashes", "audit": "acts of people and keys", "audit_chains": "HMACs", "blobs": "hashes and sizes", "budget_locks": "amounts", "children": "counts of items", "companion_bodies": "what people set", "companions": "revisions",
	"alarms": "what people set, and IDs", "case_settings": "what people set", "tests": "what people set, and IDs", "alarm_messages": "texts of alarms, and IDs", "leases": "instances", "credential_calls": "counts", "credentials": "secrets, encrypted", "damaged_rows": "IDs", "day_starts": "counts", "documents": "flows", "edits": "drafts", "endpoints": "hosts and states", "flow_hours": "counts", "flows": "drafts",
	"knowledge": "what people set", "knowledge_blocks": "numbers", "knowledge_quotes": "IDs", "forms": "settings", "idempotency": "hashes of requests", "identities": "IDs", "instances": "addresses", "invites": "e-mail addresses", "judge_marks": "what people marked, and hashes", "keys": "names and hashes", "lost_spending": "amounts", "members": "roles", "meta": "settings of the server", "prices": "amounts",
	"queue_lengths": "counts", "run_budgets": "amounts", "run_files": "IDs", "second_factors": "secrets, encrypted", "sessions": "hashes", "slugs": "names of flows", "spent_below": "amounts", "storage": "counts", "throttles": "counts", "trigger_keys": "IDs", "triggers": "what people set",
	"uploads": "IDs", "usage_daily": "counts", "usage_log": "counts", "users": "people", "versions": "hashes and notes", "wakes": "times", "webhook_secrets": "secrets, encrypted", "workspaces": "names", "goose_db_version": "numbers", "sqlite_sequence": "numbers", "sqlite_stat1": "statistics",
}

// untestedContent are the tables of flow.Content to which the test writes nothing, and where that is tested.
var untestedContent = map[string]string{"child_items": "only items that have not started; db/children_test.go", "step_parts": "db/steps_parts_test.go", "pins": "kept", "cases": "kept", "case_sets": "kept", "recordings": "TestTests_are_erased_with_their_runs", "verdicts": "TestTests_are_erased_with_their_runs", "knowledge_documents": "kept", "knowledge_passages": "kept", "knowledge_words": "kept", "knowledge_vectors": "kept", "embeddings": "db/bases", "run_contexts": "db/run_contexts_test.go", "delivery_attempts": "TestEraseRun_keeps_the_log_of_deliveries", "chunks": "files on SQLite"}

// tables returns the names of all tables and, for each that has a text, its rows.
func tables(t *testing.T, store *db.Store, text string) (all []string, with map[string]string) {
	t.Helper()
	with = map[string]string{}
	query := func(statement string, each func(values []any)) {
		t.Helper()
		if store.SQLite() == nil {
			rows, err := db.Pool(store).Query(t.Context(), statement)
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			for rows.Next() {
				values, err := rows.Values()
				if err != nil {
					t.Fatal(err)
				}
				each(values)
			}
			return
		}
		rows, err := store.SQLite().QueryContext(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		columns, _ := rows.Columns()
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			each(values)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	list := "SELECT name FROM sqlite_master WHERE type = 'table'"
	if store.SQLite() == nil {
		list = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()"
	}
	query(list, func(values []any) { all = append(all, fmt.Sprint(values[0])) })
	for _, table := range all {
		query("SELECT * FROM "+table, func(values []any) {
			var row strings.Builder
			for _, v := range values {
				if b, ok := v.([]byte); ok {
					v = string(b)
				}
				fmt.Fprintf(&row, "%v ", v)
			}
			if strings.Contains(row.String(), text) {
				with[table] += row.String() + "\n"
			}
		})
	}
	return all, with
}

// TestContent_is_erased_from_every_table writes a text through the features that keep content of runs, deletes the runs, and looks for
// the text in all tables, in the data directory, in object storage, and in backups.
func TestContent_is_erased_from_every_table(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(testing.TB, ...func(*db.Config)) *db.Store{"SQLite": dbtest.SQLite, "PostgreSQL": dbtest.Postgres} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, object storage %t", name, elsewhere), func(t *testing.T) {
				t.Parallel()
				var objects *s3server.Server
				var set []func(*db.Config)
				if elsewhere {
					objects = s3server.Start(t)
					set = append(set, storingIn(t, objects))
				}
				testContent(t, webtest.SetupOn(t, store(t, set...), func(c *handlers.Config) {
					c.Scope = func(map[string]any) hooks.Eval { return nil } // no expressions are used
				}), objects)
			})
		}
	}
}

// storingIn returns a setting that stores the content of files in a server.
func storingIn(t *testing.T, server *s3server.Server) func(*db.Config) {
	t.Helper()
	settings, err := s3.ParseSettings(server.URL("p"))
	if err != nil {
		t.Fatal(err)
	}
	client := s3.New(settings, s3.NewSources(s3.Credentials{KeyID: s3server.KeyID, Secret: s3server.Secret}, settings.Region))
	return func(c *db.Config) { c.Objects = client }
}

// filesWith returns the files with a text: those of the data directory except the database, and objects. On SQLite it makes a
// backup with all contents too, and returns how many files that has.
func filesWith(t *testing.T, h *webtest.Env, objects *s3server.Server, text string) (paths []string, inBackup int) {
	t.Helper()
	var all []string
	if objects != nil {
		all = objects.Objects(t, "")
	}
	if h.Store.SQLite() != nil {
		b, err := backup.Create(t.Context(), h.Store.DB, filepath.Join(t.TempDir(), "sluice.backup"), "test", backup.All)
		if err != nil {
			t.Fatal(err)
		}
		inBackup = b.Files
		_ = filepath.WalkDir(h.Store.Config.DataDir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && !strings.Contains(filepath.Base(path), ".db") {
				all = append(all, path)
			}
			return nil
		})
	}
	for _, path := range all {
		if data, _ := os.ReadFile(path); strings.Contains(string(data), text) {
			paths = append(paths, path)
		}
	}
	return paths, inBackup
}

func testContent(t *testing.T, h *webtest.Env, objects *s3server.Server) {
	const canary = "canary-4f1d8a"
	h.Add("founder@example.com", flow.DefaultWorkspace, flow.MemberOwner)
	p := newCaller(h, nil, flow.Key{Scopes: flow.Scopes})
	telling := h.PublishedFlow(webtest.WebhookFlow(webtest.NewHook(t, http.StatusOK).URL))
	asking := h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Ask","nodes":[
		{"id":"in","kind":"input","config":{"name":"word","type":"text"}},
		{"id":"ask","kind":"approval","config":{"title":"Go?","audience":"anyone with the link","values":["draft"]}}, {"id":"out","kind":"output","config":{"name":"out"}}],
		"edges":[{"from":"in.value","to":"ask.draft"},{"from":"ask.approved","to":"out.value"}]}`)
	ids := map[string]flow.RunID{}
	start := func(flowID, path, body string) flow.RunID {
		t.Helper()
		status, _, raw := p.send("POST", "/v1/flow/"+flowID+path, body)
		var o struct {
			ID  flow.RunID `json:"run_id"`
			Run struct {
				ID flow.RunID `json:"run_id"`
			}
		}
		if err := json.Unmarshal([]byte(raw), &o); err != nil || o.ID+o.Run.ID == "" {
			t.Fatalf("%s: %d %s", path, status, raw)
		}
		return o.ID + o.Run.ID
	}
	input := fmt.Sprintf(`{"word": %q, "run_options": {"metadata": {"note": %q}}}`, canary, canary)
	ids["telling"] = start(telling, "/run", input)
	ids["asking"] = start(asking, "/run", input)
	ids["batch"] = start(telling, "/batches", fmt.Sprintf(`{"rows": [{"word": %q}, {"word": %q}]}`, canary+"-1", canary+"-2"))

	// A request to an incoming webhook that is captured.
	trigger := &triggers.Trigger{ID: flow.NewIDs().New(flow.PrefixTrigger), WorkspaceID: flow.DefaultWorkspace, FlowID: flow.FlowID(telling), Name: "open", Kind: triggers.Hook, On: true, CreatedAt: h.Store.Now(),
		HookState: triggers.HookState{Token: triggers.NewToken(), Hook: hooks.Config{Verify: hooks.Verify{}}}}
	trigger.Hook.Verify.Scheme = "none"
	if err := h.Store.CreateTrigger(t.Context(), trigger); err != nil {
		t.Fatal(err)
	}
	if err := h.Store.SetCapture(t.Context(), trigger, h.Store.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	before := stored(t, h)
	res, err := http.Post(h.Http.URL+triggers.HookPath(trigger.Token), "application/json", strings.NewReader(fmt.Sprintf(`{"word": %q}`, canary)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var started struct {
		ID flow.RunID `json:"run_id"`
	}
	if err := json.NewDecoder(res.Body).Decode(&started); err != nil || started.ID == "" {
		t.Fatalf("the webhook answers %d, %v", res.StatusCode, err)
	}
	ids["hook"] = started.ID
	events, err := h.Store.ListEvents(t.Context(), trigger, "", "", 10)
	if err != nil || len(events) != 1 || !strings.Contains(events[0].Request, canary) {
		t.Fatalf("the events are %+v, %v", events, err)
	}
	if grown := stored(t, h) - before; grown < int64(len(events[0].Request)) {
		t.Errorf("the workspace grew by %d bytes, but the request has %d", grown, len(events[0].Request))
	}

	// A file that a run uses.
	file, err := h.Store.SaveFile(t.Context(), flow.NewFile{WorkspaceID: flow.DefaultWorkspace, Name: canary + ".txt", KeyID: p.key.ID, MaxSize: 1000}, strings.NewReader(canary))
	if err != nil {
		t.Fatal(err)
	}
	reading := h.PublishedFlow(`{"schema":"sluice.flow/v1","name":"Read","nodes":[{"id":"f","kind":"input","config":{"name":"file","type":"file"}},{"id":"out","kind":"output","config":{"name":"out"}}],"edges":[{"from":"f.value","to":"out.value"}]}`)
	ids["file"] = start(reading, "/run", fmt.Sprintf(`{"file": {"file": %q}}`, file.ID))
	for name, id := range ids {
		if name == "asking" {
			continue
		}
		if r := h.Ended(id); r.State != flow.RunSucceeded {
			t.Fatalf("the run %s is %s: %v", name, r.State, r.Error)
		}
	}
	h.DeliveryIs(telling, "delivered")

	onSQLite := h.Store.SQLite() != nil
	if paths, inBackup := filesWith(t, h, objects, canary); (objects != nil || onSQLite) && len(paths) != 2 || onSQLite && inBackup != 2 {
		t.Errorf("the file of a run and the rows of the batch are in %q, and a backup has %d files", paths, inBackup)
	}
	all, with := tables(t, h.Store, canary)
	declared := map[string]bool{}
	for _, place := range flow.Content {
		declared[place.Table] = true
		if with[place.Table] == "" && untestedContent[place.Table] == "" {
			t.Errorf("the test writes nothing to %s, so that nobody sees whether it is erased", place.Table)
		}
	}
	for _, table := range all {
		if !declared[table] && contentFree[table] == "" && !strings.HasPrefix(table, "river_") {
			t.Errorf("the table %s is new: declare it in flow.Content, or say why it cannot hold content of runs", table)
		}
		if with[table] != "" && !declared[table] {
			t.Errorf("%s is not in flow.Content, but has content of runs:\n%s", table, with[table])
		}
	}

	if status, _, raw := p.send("POST", "/v1/flow/"+asking+"/run/"+string(ids["asking"])+"/cancel", ""); status >= 300 {
		t.Fatalf("%d %s", status, raw)
	}
	h.Ended(ids["asking"])
	for name, id := range ids {
		run, err := h.Store.FindRun(t.Context(), flow.DefaultWorkspace, "", id)
		if err != nil {
			t.Fatal(err)
		}
		if status, _, raw := p.send("DELETE", "/v1/flow/"+string(run.FlowID)+"/run/"+string(id), ""); status >= 300 {
			t.Errorf("%s: %d %s", name, status, raw)
		}
	}
	if _, err := h.Store.ExpireRuns(t.Context(), h.Store.Now(), 1000); err != nil { // the pass that follows
		t.Fatal(err)
	}
	if _, err := h.Store.RemoveErasedFiles(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if _, with = tables(t, h.Store, canary); len(with) > 0 {
		for table, rows := range with {
			t.Errorf("after the runs were deleted, %s has\n%s", table, rows)
		}
	}
	if paths, inBackup := filesWith(t, h, objects, canary); len(paths) > 0 || inBackup > 0 {
		t.Errorf("after the runs were deleted, %q have the text, and a backup has %d files", paths, inBackup)
	}
}

// stored returns how many bytes count toward the quota of the workspace.
func stored(t *testing.T, h *webtest.Env) int64 {
	t.Helper()
	s, err := h.Store.Quotas.FindStorage(t.Context(), flow.DefaultWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return s.Used.Bytes
}
