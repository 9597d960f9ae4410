package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// An index holds nothing that the rows of its table do not hold. So if a page of one is
// damaged, the index is rebuilt from the rows, and what failed is repeated. It is marked in
// damaged_rows under its name, so that the operator learns that the disk lost data.

// IndexTask is the task in the mark of a damaged index, whose ID is the name of the index.
const IndexTask = "index"

// damagedRelation is a damaged index or, on PostgreSQL, a table with a damaged page.
type damagedRelation struct {
	name, table string
	sql         string // of SQLite; empty for the index of a constraint
	kind        string // of pg_class, on PostgreSQL
	page        string // number of the damaged page, if PostgreSQL names it
	cause       error
}

// Kinds of relations. Large values of a table are in another one.
const (
	kindTable = "r"
	kindIndex = "i"
)

// repairIndexes rebuilds the damaged indexes that caused an error. It reports whether it rebuilt
// any, so that what failed can be repeated.
func (s *DB) repairIndexes(ctx context.Context, failure error) (repaired bool) {
	if !dbconn.IsCorrupt(failure) {
		return false
	}
	ctx = context.WithoutCancel(ctx) // the caller may be in a hurry, but others need the index too
	find := s.damagedIndexesSQLite
	if s.IsPostgres() {
		find = s.damagedRelationPostgres
	}
	list, err := find(ctx, failure)
	if err != nil {
		s.Config.Log.Error("damaged indexes cannot be looked for", "error", err, "damage", failure)
	}
	for _, r := range list {
		repaired = s.repair(ctx, r) || repaired
	}
	return repaired
}

// repair rebuilds a damaged index, or only marks a table. It reports whether the index was rebuilt.
func (s *DB) repair(ctx context.Context, r damagedRelation) bool {
	log := s.Config.Log.With("index", r.name, "table", r.table, "damage", r.cause)
	if s.IsPostgres() && r.kind != kindIndex {
		s.markRelation(ctx, r, UnreadableTask, r.cause)
		s.Config.Log.Error("a page of a table is damaged, and rows on it cannot be read; restore a backup, or see 'sluice doctor'", "table", r.table, "page", r.page, "damage", r.cause)
		return false
	}
	err := s.Write(ctx, Durable, func(tx *Tx) error {
		if s.IsPostgres() {
			return execAll(tx, `SET LOCAL statement_timeout = 0`, `REINDEX INDEX "`+r.name+`"`)
		}
		return rebuildIndexSQLite(tx, r)
	})
	if err != nil {
		log.Error("a damaged index cannot be rebuilt; restore a backup", "error", err)
		s.markRelation(ctx, r, IndexTask, fmt.Errorf("it is damaged (%w) and could not be rebuilt: %w", r.cause, err))
		return false
	}
	log.Error("a damaged index was rebuilt from the rows of its table; no data is lost, but check the disk")
	s.markRelation(ctx, r, IndexTask, fmt.Errorf("it was damaged and has been rebuilt: %w", r.cause))
	return true
}

// markRelation marks a damaged index or page. Its failure is only logged.
func (s *DB) markRelation(ctx context.Context, r damagedRelation, task string, cause error) {
	id := r.name
	switch {
	case r.kind == kindIndex, r.kind == "":
	case r.page == "":
		id = "large values"
	case r.kind == kindTable:
		id = "page " + r.page
	default:
		id = "page " + r.page + " of its large values"
	}
	err := s.Write(ctx, Relaxed, func(tx *Tx) error {
		return tx.Queries.MarkDamaged(tx.Ctx, gen.MarkDamagedParams{TableName: r.table, ID: id, Task: task, Error: dbconn.ValidText(cause.Error()), FoundAt: s.NowMicros()})
	})
	if err != nil {
		s.Config.Log.Error("damage cannot be marked", "table", r.table, "id", id, "error", err)
	}
}

// execAll runs statements.
func execAll(tx *Tx, statements ...string) error {
	for _, q := range statements {
		if _, err := tx.DBTX.ExecContext(tx.Ctx, q); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	return nil
}

// tree finds the root pages of damaged tables and indexes in the results of SQLite's check.
var tree = regexp.MustCompile(`(?m)^Tree (\d+) .*$`)

// damagedIndexesSQLite checks the whole database for damaged indexes: errors of SQLite do not name
// what is damaged. It does nothing if it did so recently.
func (s *DB) damagedIndexesSQLite(ctx context.Context, _ error) (list []damagedRelation, err error) {
	if !s.damage.mayProbe("") {
		return nil, nil
	}
	rows, err := s.Reader.QueryContext(ctx, "PRAGMA quick_check(10000)")
	messages, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return nil, err
	}
	found := map[int]error{} // by root page
	for _, m := range tree.FindAllStringSubmatch(strings.Join(messages, "\n"), -1) {
		if root, _ := strconv.Atoi(m[1]); found[root] == nil {
			found[root] = errors.New(m[0])
		}
	}
	rows, err = s.Reader.QueryContext(ctx, "SELECT name, tbl_name, coalesce(sql, ''), rootpage FROM sqlite_schema WHERE type = 'index'")
	indexes, err := dbconn.Collect(rows, err, func(rows *sql.Rows) (r damagedRelation, err error) {
		var root int
		err = rows.Scan(&r.name, &r.table, &r.sql, &root)
		r.cause = found[root]
		return r, err
	})
	for _, r := range indexes {
		if r.cause != nil {
			list = append(list, r)
		}
	}
	return list, err
}

// rebuildIndexSQLite builds an index again and puts it in the place of the damaged one. Neither
// REINDEX nor DROP INDEX nor VACUUM would do: they all read the damaged pages first. These stay in
// the file, unused, until a backup is restored.
func rebuildIndexSQLite(tx *Tx, r damagedRelation) (err error) {
	fresh := "rebuilt_" + r.name
	create := strings.Replace(r.sql, r.name, fresh, 1)
	if create == "" {
		rows, err := tx.DBTX.QueryContext(tx.Ctx, "SELECT name FROM pragma_index_info($1) ORDER BY seqno", r.name)
		columns, err := dbconn.Collect(rows, err, dbconn.ScanText)
		if err != nil {
			return err
		}
		create = fmt.Sprintf("CREATE UNIQUE INDEX %s ON %s (%s)", fresh, r.table, strings.Join(columns, ", "))
	}
	if err := execAll(tx, create, "PRAGMA writable_schema = ON"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, execAll(tx, "PRAGMA writable_schema = OFF")) }()
	var version int
	if err := tx.DBTX.QueryRowContext(tx.Ctx, "PRAGMA schema_version").Scan(&version); err != nil {
		return err
	}
	return execAll(tx,
		fmt.Sprintf("UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = '%s') WHERE name = '%s'", fresh, r.name),
		fmt.Sprintf("DELETE FROM sqlite_schema WHERE name = '%s'", fresh),
		fmt.Sprintf("PRAGMA schema_version = %d", version+1)) // all connections read the schema again
}

// relationFile and relationPage find the file and the page in an error of PostgreSQL, relationName
// the name of an index, and valueTable the table whose large values are incomplete.
var (
	relationFile = regexp.MustCompile(`base/\d+/(\d+)`)
	relationPage = regexp.MustCompile(`block (\d+)`)
	relationName = regexp.MustCompile(`index "([^"]+)"`)
	valueTable   = regexp.MustCompile(`pg_toast_(\d+)`)
)

// damagedRelationPostgres returns the index or table that an error of PostgreSQL names, unless it was
// found recently.
func (s *DB) damagedRelationPostgres(ctx context.Context, failure error) ([]damagedRelation, error) {
	r, err := relationOf(ctx, s, failure)
	if err != nil || r.name == "" || !s.damage.mayProbe(r.name+"/"+r.page) {
		return nil, err
	}
	return []damagedRelation{r}, nil
}

// relationOf returns the index or table that an error of PostgreSQL names. The name is empty for an error that names neither.
func relationOf(ctx context.Context, s *DB, failure error) (r damagedRelation, err error) {
	e, _ := errors.AsType[*pgconn.PgError](failure)
	if e == nil {
		return r, nil
	}
	r.cause, r.page = errors.New(e.Message), first(relationPage, e.Message)
	which, arg := "", ""
	for _, by := range []struct {
		pattern *regexp.Regexp
		which   string
	}{
		{relationFile, "pg_filenode_relation(0, $1::text::oid)"},
		{relationName, "to_regclass(quote_ident($1))"},
		{valueTable, "(SELECT reltoastrelid FROM pg_class WHERE oid = $1::text::oid)"},
	} {
		if arg = first(by.pattern, e.Message); arg != "" {
			which = by.which
			break
		}
	}
	if arg == "" {
		return r, nil
	}
	// The content of large columns is in a table of its own, whose name says nothing.
	err = s.Reader.QueryRowContext(ctx, `SELECT c.relname, coalesce(t.relname, o.relname, c.relname), c.relkind::text FROM pg_class c
		LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
		LEFT JOIN pg_class o ON o.reltoastrelid = c.oid WHERE c.oid = `+which, arg).Scan(&r.name, &r.table, &r.kind)
	if dbconn.IsNoRows(err) {
		err = nil
	}
	return r, err
}

// first returns the first submatch of a pattern, or "".
func first(pattern *regexp.Regexp, text string) string {
	if m := pattern.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
