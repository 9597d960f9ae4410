package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// parallelSets is how many transactions with sets are in progress at once if
// they take long.
const parallelSets = 3

// setTimeout bounds a set whose server has stopped answering. Whoever waits for
// it gets CodeUnavailable: what becomes of the set is not known, so a start that
// was committed all the same is released by the next comparison of the tables
// with what this instance has in hand.
const setTimeout = 10 * time.Second

// setMember is a write that each run makes: its start, or its progress up to
// its end.
type setMember interface {
	// Alone carries the write out with statements of its own.
	Alone(tx *Tx) error
	// doubted takes note of an error of a commit, whose outcome is not known, and
	// returns it: alone may follow, and must find out.
	doubted(s *DB, err error) error
	runID() string
}

// errAlone is for a write that does not fit into a set.
var errAlone = errors.New("db: this write is not carried out in a set")

// setWriter carries out the writes that each run makes on PostgreSQL. Those that
// wait at the same time share a transaction, and in it one statement for each
// table, so that their cost in round trips, syncs and planning is shared too.
// The transaction takes two round trips: one that opens it, changes the runs
// that go on and reads what the decisions about new runs need, and one that
// writes the rest and commits.
type setWriter struct {
	*groups
	s *DB
}

func newSetWriter(s *DB) *setWriter {
	w := &setWriter{s: s}
	w.groups = newGroups(parallelSets, w.run)
	return w
}

// writeRun carries out a write that each run makes: on SQLite and within
// Together as one of the members of a transaction, on PostgreSQL in a set.
func (s *DB) writeRun(ctx context.Context, d Durability, set setMember) error {
	if s.joinedWith(ctx) != nil {
		return s.Write(ctx, d, set.Alone)
	}
	m := &member{set: set, d: d}
	if s.sets == nil {
		return s.outages.Named(s.Writer.write(ctx, m))
	}
	return s.outages.Named(s.sets.write(ctx, m))
}

// run carries out a group. Members that do not fit into a set, and all of a
// group that failed, get a transaction of their own each.
func (w *setWriter) run(group []*member) {
	slices.SortStableFunc(group, func(a, b *member) int { return strings.Compare(a.set.runID(), b.set.runID()) })
	together := group[:0:0]
	for i, m := range group {
		if i > 0 && m.set.runID() == group[i-1].set.runID() {
			m.err = errAlone // one statement changes a row once
			continue
		}
		together = append(together, m)
	}
	if err := w.commit(together); err != nil {
		w.s.Config.Log.Warn("a set of writes is repeated one by one", "members", len(together), "error", err)
		for _, m := range together {
			m.err = errAlone
			if errors.Is(err, dbconn.ErrNoAnswer) { // neither would another try get one
				m.err = m.set.doubted(w.s, dbconn.Unavailable(err))
			}
		}
	}
	for _, m := range group {
		if m.err == errAlone {
			go w.alone(m)
		} else {
			close(m.done)
		}
	}
}

// Alone carries out one member. Whether the set with it was committed may be
// unknown, so a start is looked for first; progress is safe to repeat.
func (w *setWriter) alone(m *member) {
	defer close(m.done)
	_ = m.set.doubted(w.s, errAlone)
	m.err = w.s.Writer.write(m.ctx, &member{set: m.set, d: m.d})
}

func (w *setWriter) commit(group []*member) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), setTimeout, dbconn.ErrNoAnswer)
	defer cancel()
	conn, err := w.s.Reader.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take connection: %w", err)
	}
	defer conn.Close()
	t := &set{members: group}
	if err := conn.Raw(func(c any) error { t.conn = dbconn.PgxOf(c); return nil }); err != nil {
		return err
	}
	t.Tx = &Tx{Queries: gen.New(conn), Store: w.s, Ctx: ctx, DBTX: conn, Batch: newBatch()}
	t.Batch.Counts.unwritten = map[FlowKey]int64{}
	t.Batch.Counts.startedBy = map[string]int64{}
	defer w.s.drop(t.Batch)
	if err := t.carryOut(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", dbconn.ErrNoAnswer, err)
		}
		_, _ = t.conn.Exec(ctx, "ROLLBACK")
		return err
	}
	w.s.wake(t.Batch)
	return nil
}

// set is a transaction whose members are carried out together.
type set struct {
	*Tx
	conn     *pgx.Conn
	members  []*member
	starts   []*member  // that are not refused
	progress []*member  // that are not fenced
	aside    []asideRow // of progress, by position
	steps    [][]any
	claimed  map[string]bool // runs that have their idempotency key
}

type asideRow struct {
	cancel  bool
	webhook []byte
}

func (t *set) carryOut() error {
	if err := t.open(); err != nil {
		return fmt.Errorf("open a set: %w", err)
	}
	for _, m := range t.progress {
		w := m.set.(*runWrite)
		t.steps = append(t.steps, rowsOf(w.steps)...)
		if err := w.recorded(t.Tx, w.run.Sizes); err != nil {
			return err
		}
	}
	for i, m := range t.progress { // once all numbers of admitted runs are right
		if err := m.set.(*runWrite).letGo(t.Tx, t.aside[i].cancel, t.aside[i].webhook); err != nil {
			return err
		}
	}
	if n := t.Batch.Counts.released; n > 0 {
		if _, err := t.admit(n * admitAtOnce); err != nil {
			return err
		}
	}
	if err := t.decideStarts(); err != nil {
		return err
	}
	if err := t.flush(openTx{conn: t.conn}); err != nil {
		return err
	}
	return t.finish()
}

// open begins the transaction, applies the progress and reads what is needed to
// decide about the starts.
func (t *set) open() error {
	b := &pgx.Batch{}
	b.Queue("BEGIN")
	b.Queue(planOnce)
	if !needsSync(t.members) {
		b.Queue("SET LOCAL synchronous_commit TO OFF")
	}
	t.countBefore(b)
	t.queueProgress(b)
	t.queueLimits(b)
	t.queueKeys(b)
	t.queueClaims(b)
	return t.conn.SendBatch(t.Ctx, b).Close()
}

// planOnce makes PostgreSQL plan each statement over a set once on a connection,
// and look its rows up by their keys: it cannot know how short the arrays are.
const planOnce = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// decideStarts finds out which of the starts are accepted, and where they begin.
// Locks are taken in the order of a start that is alone.
func (t *set) decideStarts() error {
	var unclaim []*StartWrite
	for _, m := range t.members {
		w, ok := m.set.(*StartWrite)
		if !ok || m.err == errAlone {
			continue
		}
		if w.N.IdempotencyKey != "" && !t.claimed[w.Row.ID] {
			m.err = errAlone // finds what the first request has started
			continue
		}
		if m.err = t.decideStart(w); m.err == nil {
			t.starts = append(t.starts, m)
			continue
		}
		if !isRefusal(m.err) {
			return m.err
		}
		unclaim = append(unclaim, w)
	}
	accepted := t.starts[:0]
	for _, m := range t.starts {
		w := m.set.(*StartWrite)
		if m.err = w.keep(t.Tx); m.err == nil {
			accepted = append(accepted, m)
			continue
		}
		if !isRefusal(m.err) {
			return m.err
		}
		t.unstart(w)
		unclaim = append(unclaim, w)
	}
	t.starts = accepted
	for _, m := range t.starts {
		w := m.set.(*StartWrite)
		t.steps = append(t.steps, rowsOf(w.steps)...)
		w.hand(t.Tx)
	}
	return t.dropClaims(unclaim)
}

func (t *set) decideStart(w *StartWrite) error {
	if len(w.N.Document) > 0 || len(w.N.Files) > 0 || w.Row.ParentRunID != "" {
		return errAlone
	}
	limits, err := t.FlowLimits(FlowKey{w.Row.WorkspaceID, w.Row.FlowID})
	if err != nil {
		return err
	}
	if limits.RunsPerDay > 0 || w.N.Key != nil && w.N.Key.RunsPerDay > 0 {
		return errAlone // takes a start from a day's budget before it is decided
	}
	if err := w.check(t.Tx); err != nil {
		return err
	}
	if err := w.decide(t.Tx); err != nil {
		return err
	}
	t.unwritten(w, 1)
	return nil
}

// unwritten notes starts that are decided, but not among the rows yet.
func (t *set) unwritten(w *StartWrite, n int64) {
	t.Batch.Counts.startedBy[w.Row.KeyID] += n
	if w.Row.Place == PlaceWorker {
		for _, k := range []FlowKey{{}, {w.Row.WorkspaceID, ""}, {w.Row.WorkspaceID, w.Row.FlowID}} {
			t.Batch.Counts.unwritten[k] += n
		}
	}
}

// unstart takes back a decision about a start that is refused after all.
func (t *set) unstart(w *StartWrite) {
	t.Moved(w.Row.WorkspaceID, w.Row.FlowID, w.Row.Place, PlaceEnded)
	t.unwritten(w, -1)
	if w.Row.Place == PlaceWorker {
		t.Batch.freed--
		t.Untake(w.Row.InstanceID)
	}
	t.Batch.storage = t.Batch.storage[:len(t.Batch.storage)-1]
}

// isRefusal tells whether an error concerns one member alone, after which the
// transaction goes on.
func isRefusal(err error) bool {
	e, refused := errors.AsType[*flow.Error](err)
	refused = refused && e.Code != flow.CodeUnavailable && e.Code != flow.CodeOverloaded
	return refused || err == errAlone || errors.Is(err, flow.ErrKeyOutdated) || errors.Is(err, flow.ErrFlowOutdated)
}

func (t *set) dropClaims(list []*StartWrite) error {
	var ws, names, runs []string
	for _, w := range list {
		if w.N.IdempotencyKey != "" {
			ws, names, runs = append(ws, w.Row.WorkspaceID), append(names, w.N.IdempotencyKey), append(runs, w.Row.ID)
		}
	}
	if len(ws) == 0 {
		return nil
	}
	_, err := t.conn.Exec(t.Ctx, dropClaims, ws, names, runs)
	return err
}

// finish writes the rows and commits, in one round trip.
func (t *set) finish() error {
	b := &pgx.Batch{}
	var rows [][]any
	for _, m := range t.starts {
		rows = append(rows, startRow(&m.set.(*StartWrite).Row))
	}
	if len(rows) > 0 {
		b.Queue(insertRuns, arrays(startColumns, rows)...)
	}
	if len(t.steps) > 0 {
		b.Queue(upsertSteps, arrays(stepSetColumns, t.steps)...)
	}
	if err := t.queueCounters(b); err != nil {
		return err
	}
	committed := false
	b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	if err := t.conn.SendBatch(t.Ctx, b).Close(); err != nil {
		return fmt.Errorf("write a set: %w", err)
	}
	if !committed {
		return errors.New("write a set: the server rolled it back")
	}
	for _, m := range t.members {
		if p, ok := m.set.(*runWrite); ok && m.err == dbconn.ErrFenced && p.row.Writes > 0 {
			m.err = errAlone // perhaps it was recorded before
		}
	}
	return nil
}

// rowsOf cuts flattened steps into rows.
func rowsOf(steps []any) (rows [][]any) {
	for row := range slices.Chunk(steps, len(stepColumns)) {
		rows = append(rows, row)
	}
	return rows
}
