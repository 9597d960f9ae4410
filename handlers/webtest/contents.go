package webtest

import (
	"fmt"
	"strings"
)

// Contents returns all rows of tables as text, so that tests can compare two states of the database.
func (h *Env) Contents(tables ...string) string {
	h.T.Helper()
	var b strings.Builder
	for _, table := range tables {
		rows, err := h.Store.SQLite().QueryContext(h.T.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2")
		if err != nil {
			h.T.Fatal(err)
		}
		defer rows.Close()
		columns, err := rows.Columns()
		if err != nil {
			h.T.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				h.T.Fatal(err)
			}
			fmt.Fprintf(&b, "%s %v\n", table, values)
		}
		if err := rows.Err(); err != nil {
			h.T.Fatal(err)
		}
		rows.Close()
	}
	return b.String()
}
