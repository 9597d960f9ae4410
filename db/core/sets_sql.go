package core

import (
	"fmt"
	"strings"
)

// column is a column of rows that one statement writes. The statement gets one
// array per column, which unnest turns back into rows, so it is parsed and planned
// once for any number of rows.
type column struct{ name, typ string }

const (
	text    = "text"
	integer = "bigint"
	blob    = "bytea"
)

// source returns the FROM item u that turns the arrays in $1, $2, … into rows.
func source(columns []column) string {
	var arrays, names []string
	for i, c := range columns {
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, c.typ))
		names = append(names, c.name)
	}
	return "unnest(" + strings.Join(arrays, ", ") + ") AS u(" + strings.Join(names, ", ") + ")"
}

// names returns the names of columns, each with a prefix, separated by commas.
func names(prefix string, columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}

// arrays converts rows to the arguments of a statement over source.
func arrays(columns []column, rows [][]any) []any {
	args := make([]any, len(columns))
	for i, c := range columns {
		switch c.typ {
		case text:
			args[i] = columnOf[string](rows, i)
		case integer:
			args[i] = columnOf[int64](rows, i)
		default:
			args[i] = columnOf[[]byte](rows, i)
		}
	}
	return args
}

// columnOf returns column i of rows, as the parameter for an array. It panics if a value is
// not of type T.
func columnOf[T any](rows [][]any, i int) []T {
	list := make([]T, len(rows))
	for n, row := range rows {
		list[n] = row[i].(T)
	}
	return list
}

// upsertSteps writes any number of steps. A step that exists is replaced, except for
// its key. endReservation releases its budget reservation.
var upsertSteps = "INSERT INTO steps (" + names("", stepColumns) + ") SELECT " + names("u.", stepColumns) + " FROM " + source(stepColumns) +
	" ON CONFLICT (run_id, path) DO UPDATE SET " + assignExcluded(stepColumns[3:]) + endReservation

// assignExcluded returns the assignments of an ON CONFLICT clause that replaces columns by
// the new values.
func assignExcluded(columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name + " = excluded." + c.name
	}
	return strings.Join(list, ", ")
}

// claimColumns are the columns of ClaimIdempotency. The argument after them is the
// time before which a claim has expired.
var claimColumns = []column{{"workspace_id", text}, {"name", text}, {"fingerprint", text}, {"run_id", text}, {"created_at", integer}, {"expires_at", integer}}

var (
	// claimIdempotency stores the idempotency keys of a set and returns the runs whose
	// claim succeeded. An existing key is replaced only when it has expired.
	claimIdempotency = "INSERT INTO idempotency (" + names("", claimColumns) + ") SELECT " + names("u.", claimColumns) + " FROM " + source(claimColumns) + `
	ON CONFLICT (workspace_id, name) DO UPDATE
	SET fingerprint = excluded.fingerprint, run_id = excluded.run_id, created_at = excluded.created_at, expires_at = excluded.expires_at
	WHERE idempotency.created_at <= ` + fmt.Sprintf("$%d", len(claimColumns)+1) + ` AND idempotency.expires_at <= excluded.created_at RETURNING run_id`
	dropClaims = "DELETE FROM idempotency AS i USING unnest($1::text[], $2::text[], $3::text[]) AS u(workspace_id, name, run_id) WHERE i.workspace_id = u.workspace_id AND i.name = u.name AND i.run_id = u.run_id"
)
