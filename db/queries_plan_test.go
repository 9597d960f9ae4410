package db_test

import (
	"context"
	"database/sql"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sluice/db"
	"sluice/db/dbconn"
	"sluice/db/dbtest"
	"sluice/db/gen"
)

// small are the tables that may be scanned completely. A tree is a key and the keys that
// it made, hashes are the documents of a tree of runs, callers a run and
// those above it, ended the runs of a flow up to a limit.
var small = []string{"tree", "hashes", "callers", "ended", "instances", "queue_lengths", "users", "meta", "workspaces", "usage_log", "usage_all", "usage_full", "spent_all", "damaged_rows"}

// few are the queries whose rows are few enough to be sorted, at most the numbers of the
// 100,000 items of a step or of the 50,000 documents of a base.
var few = []string{"CountDocumentStates", "CountChildItemCells", "CountChildRunCells", "ListAliasCallers", "ListCallers", "ListCasesOfRun", "ListClaimed", "ListDamaged", "ListDeliveriesOfRun", "ListEndpointsByHost", "ListHeld", "ListLiveReach", "ListSuspects", "ListUsage"}

// TestQueries_use_indexes checks the SQLite plan of every query. Partial indexes in
// particular are only used if the query repeats their condition.
func TestQueries_use_indexes(t *testing.T) {
	t.Parallel()
	s := dbtest.SQLite(t)
	methods := reflect.TypeFor[*gen.Queries]()
	for i := range methods.NumMethod() {
		m := methods.Method(i)
		if m.Name == "WithTx" {
			continue
		}
		for _, line := range plan(t, s, m) {
			fields := strings.Fields(line)
			if fields[0] == "SCAN" && !strings.Contains(line, "INDEX") && !slices.Contains(small, fields[1]) {
				t.Errorf("%s reads a whole table: %s", m.Name, line)
			}
			if strings.HasPrefix(line, "USE TEMP B-TREE") && !slices.Contains(few, m.Name) {
				t.Errorf("%s sorts: %s", m.Name, line)
			}
		}
	}
}

func plan(t *testing.T, s *db.Store, m reflect.Method) (lines []string) {
	t.Helper()
	r := &recorder{}
	func() {
		defer func() { _ = recover() }() // of a row that is not there
		m.Func.Call(arguments(m, gen.New(r)))
	}()
	rows, err := s.SQLite().Query("EXPLAIN QUERY PLAN "+dbconn.ForSQLite(r.query), r.args...)
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var line string
		if err := rows.Scan(&id, &parent, &unused, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// recorder keeps the text of a query instead of running it.
type recorder struct {
	query string
	args  []any
}

func (r *recorder) keep(query string, args []any) { r.query, r.args = query, args }

func (r *recorder) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	r.keep(query, args)
	return nil, errNo
}

func (r *recorder) PrepareContext(context.Context, string) (*sql.Stmt, error) { return nil, errNo }

func (r *recorder) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	r.keep(query, args)
	return nil, errNo
}

func (r *recorder) QueryRowContext(_ context.Context, query string, args ...any) *sql.Row {
	r.keep(query, args)
	return nil
}
