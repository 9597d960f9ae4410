package core

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

// PostgreSQL fails every statement that reads a damaged page of a table, and an index does not help:
// it reads the row before any condition. Background work and lists that fail are repeated so that
// they read tables around their damaged pages: in each query, the name of a table then means its
// other pages, which are read in the order of the file. That is slow, and lasts until the
// operator has restored the table.

const (
	// maxPages bounds the damaged pages of all tables that are read around.
	maxPages = 64
	// pagesAtOnce is how many pages of a table one statement of CheckTable reads.
	pagesAtOnce = 128
	// onlyRanges makes PostgreSQL read the ranges of pages that aroundPages selects, and not all
	// pages with a condition. Rows to change are then found by their keys, one by one.
	onlyRanges = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)

// tablePages are pages of tables.
type tablePages struct {
	schema string           // of all tables
	of     map[string][]int // numbers of pages in ascending order, by table
}

// size returns the number of pages.
func (p tablePages) size() (n int) {
	for _, list := range p.of {
		n += len(list)
	}
	return n
}

// knownPages are the damaged pages that were found since the marks were last dropped. It is safe
// for concurrent use.
type knownPages struct {
	mu    sync.Mutex
	pages tablePages
}

// with adds a page of a table and returns all. It reports whether any of them was not in before.
func (k *knownPages) with(before tablePages, table string, page int) (all tablePages, more bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pages.of == nil {
		k.pages.of = map[string][]int{}
	}
	if i, ok := slices.BinarySearch(k.pages.of[table], page); !ok && k.pages.size() < maxPages {
		k.pages.of[table] = slices.Insert(slices.Clone(k.pages.of[table]), i, page)
	}
	all = tablePages{k.pages.schema, maps.Clone(k.pages.of)}
	return all, all.size() > before.size()
}

// forget drops all pages.
func (k *knownPages) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pages.of = nil
}

// useSchema finds the schema of the tables once.
func (k *knownPages) useSchema(ctx context.Context, db gen.DBTX) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.pages.schema != "" {
		return k.pages.schema, nil
	}
	const query = "SELECT quote_ident(n.nspname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'damaged_rows'::regclass"
	if err := db.QueryRowContext(ctx, query).Scan(&k.pages.schema); err != nil {
		return "", fmt.Errorf("find the schema: %w", err)
	}
	return k.pages.schema, nil
}

// aroundDamage returns the pages to read around in another attempt, after one that read around
// some has failed. more reports that there are others than in that attempt.
func (s *DB) aroundDamage(ctx context.Context, before tablePages, failure error) (all tablePages, more bool) {
	if !s.IsPostgres() || !dbconn.IsCorrupt(failure) {
		return before, false
	}
	all, more, err := damagedPages(context.WithoutCancel(ctx), s, before, failure)
	if err != nil {
		s.Config.Log.Error("damaged pages cannot be looked for", "error", err)
	}
	return all, more
}

// damagedPages is aroundDamage with the error of looking for pages.
func damagedPages(ctx context.Context, s *DB, before tablePages, failure error) (all tablePages, more bool, err error) {
	if _, err := s.damage.pages.useSchema(ctx, s.Reader); err != nil {
		return before, false, err
	}
	r, err := relationOf(ctx, s, failure)
	if err != nil {
		return before, false, err
	}
	if n, err := strconv.Atoi(r.page); err == nil && r.kind == kindTable {
		all, more = s.damage.pages.with(before, r.name, n)
		return all, more, nil
	}
	return before, false, nil
}

// readAround makes the statements of a transaction read tables around damaged pages.
func readAround(tx *Tx, p tablePages) error {
	if p.size() == 0 {
		return nil
	}
	if _, err := tx.DBTX.ExecContext(tx.Ctx, onlyRanges); err != nil {
		return err
	}
	tx.DBTX = pagesReader{tx.DBTX, p}
	tx.Queries = gen.New(tx.DBTX)
	return nil
}

// ReadsAround reports whether statements read tables around damaged pages. They must not use FOR UPDATE then.
func ReadsAround(tx *Tx) bool {
	_, around := tx.DBTX.(pagesReader)
	return around
}

// aroundKey is the key of a pagesReader in a context.
type aroundKey struct{}

// readAround calls read with a context in which Reader reads tables around damaged pages.
func (s *DB) readAround(ctx context.Context, p tablePages, read func(context.Context) error) error {
	tx, err := s.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, onlyRanges); err != nil {
		return err
	}
	return read(context.WithValue(ctx, aroundKey{}, pagesReader{tx, p}))
}

// pagesReader executes statements so that they read tables around damaged pages.
type pagesReader struct {
	gen.DBTX
	pages tablePages
}

// ExecContext executes a statement.
func (r pagesReader) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return r.DBTX.ExecContext(ctx, aroundPages(query, r.pages), args...)
}

// QueryContext runs a query.
func (r pagesReader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return r.DBTX.QueryContext(ctx, aroundPages(query, r.pages), args...)
}

// QueryRowContext runs a query for one row.
func (r pagesReader) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return r.DBTX.QueryRowContext(ctx, aroundPages(query, r.pages), args...)
}

// statement divides a statement into comments, WITH and what follows. written is the table that
// a statement changes, which cannot be read around its pages.
var (
	statement = regexp.MustCompile(`(?s)^((?:\s|--[^\n]*\n)*)(WITH\s+(?:RECURSIVE\s+)?)?(.*)$`)
	written   = regexp.MustCompile(`\b(UPDATE|DELETE FROM|INSERT INTO)\s+(\w+)`)
)

// aroundPages changes a statement so that the names of tables mean all pages except for the given
// ones. A common table expression hides the table of its name.
func aroundPages(query string, p tablePages) string {
	var views []string
	for _, table := range slices.Sorted(maps.Keys(p.of)) {
		if regexp.MustCompile(`\b` + table + `\b`).MatchString(query) {
			views = append(views, fmt.Sprintf("%s AS NOT MATERIALIZED (%s)", table, otherPages(p.schema+"."+table, p.of[table])))
		}
	}
	if views == nil {
		return query
	}
	m := statement.FindStringSubmatch(query)
	with, rest := m[2], m[3]
	if with == "" {
		with = "WITH "
	} else {
		rest = ", " + rest
	}
	rest = written.ReplaceAllStringFunc(rest, func(found string) string {
		w := written.FindStringSubmatch(found)
		if p.of[w[2]] == nil {
			return found
		}
		return w[1] + " " + p.schema + "." + w[2]
	})
	return m[1] + with + strings.Join(views, ", ") + " " + rest
}

// otherPages selects the rows of a table that are on other pages. OFFSET keeps conditions from
// being moved inside, where PostgreSQL would use an index for them.
func otherPages(table string, pages []int) string {
	var parts []string
	from := 0
	for _, n := range append(slices.Clone(pages), -1) {
		until := ""
		if n >= 0 {
			until = fmt.Sprintf(" AND ctid < '(%d,0)'", n)
		}
		if n != from {
			parts = append(parts, fmt.Sprintf("(SELECT * FROM %s WHERE ctid >= '(%d,0)'%s OFFSET 0)", table, from, until))
		}
		from = n + 1
	}
	return strings.Join(parts, " UNION ALL ")
}

// CheckTable reads all rows of a table of PostgreSQL with their large values, and calls found for
// each page on which that fails. It stops at a time with context.DeadlineExceeded.
func (s *DB) CheckTable(ctx context.Context, table string, until time.Time, found func(page int, cause error)) error {
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	schema, err := s.damage.pages.useSchema(ctx, s.Reader)
	if err != nil {
		return err
	}
	name, pages := schema+"."+table, 0
	if err := s.Reader.QueryRowContext(ctx, "SELECT pg_relation_size($1::text::regclass) / current_setting('block_size')::int", name).Scan(&pages); err != nil {
		return fmt.Errorf("find the size of %s: %w", table, err)
	}
	bad := 0
	for from := 0; from < pages && bad < maxPages; from += pagesAtOnce {
		err := checkPages(ctx, s, name, from, min(from+pagesAtOnce, pages), func(page int, cause error) {
			bad++
			found(page, cause)
		})
		if err != nil {
			return fmt.Errorf("check %s: %w", table, err)
		}
	}
	return nil
}

// checkPages is CheckTable for a range of pages. It divides a range that cannot be read, because the error
// of a value names the page of the value and not that of its row.
func checkPages(ctx context.Context, s *DB, table string, from, until int, found func(page int, cause error)) error {
	read := fmt.Sprintf("SELECT count(length(t::text)) FROM %s t WHERE ctid >= '(%d,0)' AND ctid < '(%d,0)'", table, from, until)
	err := s.readAround(ctx, tablePages{}, func(ctx context.Context) error {
		var n int64
		return pagesOf(ctx).QueryRowContext(ctx, read).Scan(&n)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	long := dbconn.IsTimeLimit(err)
	switch {
	case err == nil, long && until-from == 1:
		return nil
	case !long && !dbconn.IsCorrupt(err):
		return err
	case until-from == 1:
		found(from, err)
		return nil
	}
	middle := (from + until) / 2
	return errors.Join(checkPages(ctx, s, table, from, middle, found), checkPages(ctx, s, table, middle, until, found))
}

// pagesOf returns the pagesReader of a context, or nil.
func pagesOf(ctx context.Context) gen.DBTX {
	r, _ := ctx.Value(aroundKey{}).(gen.DBTX)
	return r
}
