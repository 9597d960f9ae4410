package db

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
)

// searchTime bounds a search unless flow.RunQuery.SearchTime is set.
const searchTime = 2 * time.Second

// matchText returns a condition of lists.Search for a text in the inputs or
// metadata of runs, regardless of case. It reads one row at a time, because
// inputs may be large. An empty text gives nil.
func (s *Runs) matchText(text string) func(context.Context, []string) ([]string, error) {
	if text == "" {
		return nil
	}
	needle := needleOf(text)
	return func(ctx context.Context, ids []string) ([]string, error) {
		q := &lists.Query{}
		q.Add("SELECT id, inputs, metadata FROM runs WHERE id IN ", q.List(ids))
		matches := map[string]bool{}
		_, err := lists.Collect(ctx, s.DB, q, func(rows *sql.Rows) (none struct{}, err error) {
			var id, inputs, metadata string
			err = rows.Scan(&id, &inputs, &metadata)
			matches[id] = strings.Contains(strings.ToLower(inputs), needle) || strings.Contains(strings.ToLower(metadata), needle)
			return none, err
		})
		return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !matches[id] }), err
	}
}

// needleOf returns a text as it appears within stored JSON, in lower case.
func needleOf(text string) string {
	quoted := string(flow.EncodeJSON(dbconn.ValidText(text)))
	return strings.ToLower(quoted[1 : len(quoted)-1])
}
