package db

import (
	"cmp"
	"context"
	"database/sql"
	"strings"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/lists"
	"sluice/flow"
)

// searchTime bounds a search unless RunChoice.SearchTime says otherwise.
const searchTime = 2 * time.Second

// search looks for a text in the inputs and metadata of chosen runs, which no
// index knows: it reads the first of them, and no more than a person waits for.
// It always reads one batch.
type search struct {
	*core.DB
	*chosen
	text    string
	time    time.Duration
	looked  int
	reached string // the last of them, when others were not looked at
}

// first gives the first n runs that have the text; without one, all have it.
func (f *search) first(ctx context.Context, n int) (ids []string, err error) {
	if f.text == "" {
		return runsOf(f.DB).chooseRuns(ctx, f.chosen, n)
	}
	until := time.Now().Add(cmp.Or(f.time, searchTime))
	for len(ids) < n {
		began := time.Now()
		batch, err := runsOf(f.DB).chooseRuns(ctx, f.chosen, lists.SearchBatch)
		if err != nil || len(batch) == 0 {
			return ids, err
		}
		found, err := f.having(ctx, batch)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
		f.looked += len(batch)
		f.Pass(batch[len(batch)-1])
		if len(batch) < lists.SearchBatch {
			return ids, nil
		}
		// Another batch would take as long as this one.
		if now := time.Now(); len(ids) < n && (f.looked >= lists.SearchDepth || now.Add(now.Sub(began)).After(until)) {
			f.reached = batch[len(batch)-1]
			return ids, nil
		}
	}
	return ids, nil
}

// having gives those of the runs that have the text, in the same order. Each is
// let go of before the next is read, as their inputs may be large.
func (f *search) having(ctx context.Context, ids []string) (found []string, err error) {
	needle := needleOf(f.text)
	q := &lists.Query{}
	q.Add("SELECT id, inputs, metadata FROM runs WHERE id IN ", q.List(ids))
	has := map[string]bool{}
	_, err = lists.Collect(ctx, f.DB, q, func(rows *sql.Rows) (none struct{}, err error) {
		var id, inputs, metadata string
		err = rows.Scan(&id, &inputs, &metadata)
		has[id] = strings.Contains(strings.ToLower(inputs), needle) || strings.Contains(strings.ToLower(metadata), needle)
		return none, err
	})
	for _, id := range ids {
		if has[id] {
			found = append(found, id)
		}
	}
	return found, err
}

// needleOf is a text as it stands within stored JSON, in small letters.
func needleOf(text string) string {
	quoted := string(flow.EncodeJSON(dbconn.ValidText(text)))
	return strings.ToLower(quoted[1 : len(quoted)-1])
}
