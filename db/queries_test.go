package db_test

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"reflect"
	"regexp"
	"testing"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// TestQueries runs every generated query on both databases with arguments of the right
// types that match nothing.
func TestQueries(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		methods := reflect.TypeFor[*gen.Queries]()
		for i := range methods.NumMethod() {
			m := methods.Method(i)
			if m.Name == "WithTx" {
				continue
			}
			err := w.Write(w.ctx, true, func(tx *core.Tx) error {
				out := m.Func.Call(arguments(m, tx.Queries))
				err, _ := out[len(out)-1].Interface().(error)
				return errors.Join(err, errNo) // and undo it
			})
			if !errors.Is(err, sql.ErrNoRows) && err.Error() != errNo.Error() {
				t.Errorf("%s: %v", m.Name, err)
			}
		}
	})
}

func arguments(m reflect.Method, q *gen.Queries) []reflect.Value {
	args := []reflect.Value{reflect.ValueOf(q), reflect.ValueOf(context.Background())}
	for i := 2; i < m.Type.NumIn(); i++ {
		v := reflect.New(m.Type.In(i)).Elem()
		fill(v)
		args = append(args, v)
	}
	return args
}

// fill gives every parameter a different value, so that swapped parameters at least
// cause a type error.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Slice:
		v.SetBytes([]byte{1})
	case reflect.String:
		v.SetString("text")
	case reflect.Int64, reflect.Int32:
		v.SetInt(1)
	}
}

// TestForSQLite shows why placeholders are rewritten: in SQLite $2 is a name, numbered
// by its first appearance.
func TestForSQLite(t *testing.T) {
	setup(t, func(t *testing.T, w *fixture) {
		var first, second string
		err := w.Write(w.ctx, true, func(tx *core.Tx) error {
			return tx.DBTX.QueryRowContext(w.ctx, "SELECT $2 || '', $1 || ''", "one", "two").Scan(&first, &second)
		})
		w.must(err)
		wantEqual(t, "$2, $1", first+" "+second, "two one")
	})
}

func TestForSQLite_rewrites_all(t *testing.T) {
	t.Parallel()
	wantEqual(t, "query", dbconn.ForSQLite("a = $12 AND b = $1 AND c = $12"), "a = ?12 AND b = ?1 AND c = ?12")
}

// The queries must not contain SQL that only one database supports.
func TestQueries_are_portable(t *testing.T) {
	t.Parallel()
	foreign := regexp.MustCompile(`(?i)::|\bANY\s*\(|\bILIKE\b|\bFOR UPDATE\b|\bnow\(\)|\bjson`)
	files, err := queryFiles.ReadDir("queries")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := queryFiles.ReadFile("queries/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if found := foreign.Find(text); found != nil {
			t.Errorf("%s holds %q, which one of the databases does not know", f.Name(), found)
		}
	}
}
