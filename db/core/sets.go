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

// parallelSets is how many sets may be in progress at once if they take long.
const parallelSets = 3

// setTimeout bounds a set whose server has stopped answering. The callers get
// CodeUnavailable because the outcome is unknown. If a start was committed after
// all, the next comparison of the tables with the runs that this instance holds
// releases the run.
const setTimeout = 10 * time.Second

// setMember is a write that every run makes: its start, or its progress up to its
// end.
type setMember interface {
	// ExecuteAlone executes the write with its own statements.
	ExecuteAlone(tx *Tx) error
	// commitFailed records that a commit failed with an unknown outcome and returns
	// the error with its public name. ExecuteAlone may be called afterwards, and must then
	// find out whether the write was committed.
	commitFailed(s *DB, err error) error
	runID() flow.RunID
}

// errNotInSet marks a write that cannot be part of a set.
var errNotInSet = errors.New("db: this write is not executed in a set")

// setWriter executes the writes that every run makes on PostgreSQL. Writes that
// wait at the same time share a transaction and, within it, one statement per
// table, so they also share the cost of round trips, syncs and planning. The
// transaction takes two round trips: the first begins it, updates the runs in
// progress and reads the data that decisions about new runs need; the second
// writes the rest and commits.
type setWriter struct {
	*groups
	s *DB
}

// newSetWriter starts the writer of sets. Up to parallelSets sets commit at once, each on
// a connection of its own.
func newSetWriter(s *DB) *setWriter {
	w := &setWriter{s: s}
	w.groups = newGroups(parallelSets, w.run)
	return w
}

// writeRun executes a write that every run makes: on SQLite and within InTransaction
// as a member of a transaction, on PostgreSQL in a set.
func (s *DB) writeRun(ctx context.Context, d Durability, set setMember) error {
	if s.joinedWith(ctx) != nil {
		return s.Write(ctx, d, set.ExecuteAlone)
	}
	if s.sets == nil {
		return s.repeatDamaged(ctx, func() error { return s.outages.PublicError(s.Writer.write(ctx, &member{set: set, d: d})) })
	}
	return s.repeatDamaged(ctx, func() error { return s.outages.PublicError(s.sets.write(ctx, &member{set: set, d: d})) })
}

// run executes a group. Members that cannot be part of the set get a separate
// transaction, as do all members of a set that failed.
func (w *setWriter) run(group []*member) {
	slices.SortStableFunc(group, func(a, b *member) int { return strings.Compare(string(a.set.runID()), string(b.set.runID())) })
	together := group[:0:0]
	for i, m := range group {
		if i > 0 && m.set.runID() == group[i-1].set.runID() {
			m.err = errNotInSet // a statement can change a row only once
			continue
		}
		together = append(together, m)
	}
	if err := w.commit(together); err != nil {
		w.s.Config.Log.Warn("a set of writes is repeated one by one", "members", len(together), "error", err)
		for _, m := range together {
			m.err = errNotInSet
			if errors.Is(err, dbconn.ErrNoAnswer) { // another attempt would not get an answer either
				m.err = m.set.commitFailed(w.s, dbconn.Unavailable(err))
			}
		}
	}
	for _, m := range group {
		if m.err == errNotInSet {
			go w.executeAlone(m)
		} else {
			close(m.done)
		}
	}
}

// executeAlone executes one member. The set that contained it may have been committed,
// so a start first looks for its run. Progress is safe to repeat.
func (w *setWriter) executeAlone(m *member) {
	defer close(m.done)
	_ = m.set.commitFailed(w.s, errNotInSet)
	m.err = w.s.Writer.write(m.ctx, &member{set: m.set, d: m.d, ctx: m.ctx, since: m.since})
}

// commit executes a set in one transaction. It is bounded by setTimeout, because all
// its members wait for it.
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
	t.tx = &Tx{Queries: gen.New(conn), Store: w.s, Ctx: ctx, DBTX: conn, Batch: newBatch()}
	t.tx.Batch.Counts.unwritten = map[FlowKey]int64{}
	t.tx.Batch.Counts.startedBy = map[string]int64{}
	defer w.s.releaseWorkers(t.tx.Batch)
	if err := t.execute(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", dbconn.ErrNoAnswer, err)
		}
		_, _ = t.conn.Exec(ctx, "ROLLBACK")
		return err
	}
	w.s.dispatch(t.tx.Batch)
	return nil
}

// set is a transaction whose members share statements.
type set struct {
	tx       *Tx
	conn     *pgx.Conn
	members  []*member
	starts   []*member     // accepted starts
	progress []*member     // writes that are not fenced
	released []releasedRow // for each of progress
	steps    [][]any
	claimed  map[flow.RunID]bool  // runs that claimed their idempotency key
	unusual  map[*StartWrite]bool // webhooks that a set cannot start
}

// releasedRow holds what others may have written to a run in progress.
type releasedRow struct {
	cancel  bool
	webhook []byte
}

// execute does the work of all members with one statement for each table. The order of
// tables is the same in all transactions, so that sets cannot deadlock.
func (t *set) execute() error {
	if err := t.open(); err != nil {
		return fmt.Errorf("open a set: %w", err)
	}
	for _, m := range t.progress {
		w := m.set.(*runWrite)
		t.steps = append(t.steps, rowsOf(w.steps)...)
		if err := w.finishWrite(t.tx, w.run.Sizes); err != nil {
			return err
		}
	}
	for i, m := range t.progress { // after all counts of admitted runs are up to date
		if err := m.set.(*runWrite).leaveWorker(t.tx, t.released[i].cancel, t.released[i].webhook); err != nil {
			return err
		}
	}
	if n := t.tx.Batch.Counts.released; n > 0 {
		if _, err := t.tx.admit(n * admitAtOnce); err != nil {
			return err
		}
	}
	if err := t.decideStarts(); err != nil {
		return err
	}
	if err := t.tx.flush(openTx{conn: t.conn}); err != nil {
		return err
	}
	return t.finish()
}

// open begins the transaction, applies the progress and reads the data that
// decisions about starts need.
func (t *set) open() error {
	b := &pgx.Batch{}
	left, short := dbconn.LockTimeLeft(t.since())
	if short { // before the batch, because preparing its statements takes locks too
		if _, err := t.conn.Exec(t.tx.Ctx, "BEGIN"); err != nil {
			return err
		}
		if _, err := t.conn.Exec(t.tx.Ctx, dbconn.ShortenLockTimeout, left); err != nil {
			return err
		}
	} else {
		b.Queue("BEGIN")
	}
	b.Queue(planOnce)
	if !needsSync(t.members) {
		b.Queue("SET LOCAL synchronous_commit TO OFF")
	}
	t.countBefore(b)
	t.queueProgress(b)
	t.queueLimits(b)
	t.queueKeys(b)
	t.queueClaims(b)
	t.queueEvents(b)
	t.queueSpent(b)
	return t.conn.SendBatch(t.tx.Ctx, b).Close()
}

// since returns when the first of the members began to wait.
func (t *set) since() time.Time {
	first := t.members[0].since
	for _, m := range t.members {
		if m.since.Before(first) {
			first = m.since
		}
	}
	return first
}

// PostgreSQL normally chooses between a generic plan and a plan for the values of the
// arguments. For arrays of a few rows that costs more than running the statement.

// planOnce makes PostgreSQL plan each statement over a set once per connection and
// look up rows by key. The planner cannot know that the arrays are short.
const planOnce = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// decideStarts decides which starts are accepted and where they begin. It takes
// locks in the same order as StartWrite.ExecuteAlone.
func (t *set) decideStarts() error {
	var unclaim []*StartWrite
	for _, m := range t.members {
		w, ok := m.set.(*StartWrite)
		if !ok || m.err == errNotInSet {
			continue
		}
		if w.N.IdempotencyKey != "" && !t.claimed[w.Row.ID] {
			m.err = errNotInSet // finds the run of the first request
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
		if m.err = w.checkQuota(t.tx); m.err == nil {
			accepted = append(accepted, m)
			continue
		}
		if !isRefusal(m.err) {
			return m.err
		}
		t.undoStart(w)
		unclaim = append(unclaim, w)
	}
	t.starts = accepted
	for _, m := range t.starts {
		w := m.set.(*StartWrite)
		t.steps = append(t.steps, rowsOf(w.steps)...)
		w.handToWorker(t.tx)
	}
	return t.dropClaims(unclaim)
}

// decideStart decides about one start. It returns errNotInSet for a start that needs
// further statements.
func (t *set) decideStart(w *StartWrite) error {
	if t.unusual[w] || len(w.N.Document) > 0 || len(w.N.Files) > 0 || w.Row.ParentRunID != "" || w.Row.Continues != "" || w.Row.MaxNanoUsd > 0 {
		return errNotInSet
	}
	limits, err := t.tx.FlowLimits(FlowKey{w.Row.WorkspaceID, w.Row.FlowID})
	if err != nil {
		return err
	}
	if k := w.N.Key; limits.RunsPerDay > 0 || k != nil && (k.RunsPerDay > 0 || len(k.Makers) > 0 || k.MayMakeKeys() && k.Concurrency > 0) {
		return errNotInSet // must count against the budget, or the limits of several keys, before the decision
	}
	if err := w.check(t.tx); err != nil {
		return err
	}
	if err := w.assignPlace(t.tx); err != nil {
		return err
	}
	t.unwritten(w, 1)
	return nil
}

// unwritten counts a start that is accepted but not in the table yet.
func (t *set) unwritten(w *StartWrite, n int64) {
	t.tx.Batch.Counts.startedBy[w.Row.KeyID] += n
	if w.Row.Place == PlaceWorker {
		for _, k := range []FlowKey{{}, {w.Row.WorkspaceID, ""}, {w.Row.WorkspaceID, w.Row.FlowID}} {
			t.tx.Batch.Counts.unwritten[k] += n
		}
	}
}

// undoStart reverts the acceptance of a start that a quota refuses.
func (t *set) undoStart(w *StartWrite) {
	t.tx.RecordMove(w.Row.WorkspaceID, w.Row.FlowID, w.Row.Place, PlaceEnded)
	t.unwritten(w, -1)
	if w.Row.Place == PlaceWorker {
		t.tx.Batch.freed--
		t.tx.ReturnWorker(w.Row.InstanceID)
	}
	t.tx.Batch.storage = t.tx.Batch.storage[:len(t.tx.Batch.storage)-1]
}

// isRefusal reports whether an error affects only one member, so that the
// transaction continues.
func isRefusal(err error) bool {
	e, refused := errors.AsType[*flow.Error](err)
	refused = refused && e.Code != flow.CodeUnavailable && e.Code != flow.CodeOverloaded
	return refused || err == errNotInSet || errors.Is(err, flow.ErrKeyOutdated) || errors.Is(err, flow.ErrFlowOutdated) || errors.Is(err, flow.ErrPricesWanted)
}

// dropClaims releases the idempotency keys of starts that were not accepted.
func (t *set) dropClaims(list []*StartWrite) error {
	var ws, names, runs []string
	for _, w := range list {
		if w.N.IdempotencyKey != "" {
			ws, names, runs = append(ws, string(w.Row.WorkspaceID)), append(names, w.N.IdempotencyKey), append(runs, string(w.Row.ID))
		}
	}
	if len(ws) == 0 {
		return nil
	}
	_, err := t.conn.Exec(t.tx.Ctx, dropClaims, ws, names, runs)
	return err
}

// finish writes the rows and commits, in one round trip.
func (t *set) finish() error {
	b := &pgx.Batch{}
	rows := t.tx.Batch.childRows
	for _, m := range t.starts {
		rows = append(rows, insertRuns.row(m.set.(*StartWrite).Row))
	}
	if len(rows) > 0 {
		b.Queue(insertRuns.sql, insertRuns.args(rows)...)
	}
	t.recordEvents(b)
	if len(t.steps) > 0 {
		b.Queue(upsertSteps, arrays(stepColumns, t.steps)...)
	}
	if err := t.tx.queueCounters(b); err != nil {
		return err
	}
	committed := false
	b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		committed = tag.String() == "COMMIT"
		return nil
	})
	if err := t.conn.SendBatch(t.tx.Ctx, b).Close(); err != nil {
		return fmt.Errorf("write a set: %w", err)
	}
	if !committed {
		return errors.New("write a set: the server rolled it back")
	}
	for _, m := range t.members {
		if p, ok := m.set.(*runWrite); ok && m.err == dbconn.ErrFenced && (p.row.Writes > 0 || p.row.CancelAllowed == 0) {
			m.err = errNotInSet // it may have been committed before, or its run was canceled
		}
	}
	return nil
}

// rowsOf splits flattened steps into rows.
func rowsOf(steps []any) (rows [][]any) {
	for row := range slices.Chunk(steps, len(stepColumns)) {
		rows = append(rows, row)
	}
	return rows
}
