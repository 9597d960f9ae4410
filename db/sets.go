package db

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
	// alone carries the write out with statements of its own.
	alone(tx *Tx) error
	// doubted takes note of an error of a commit, whose outcome is not known, and
	// returns it: alone may follow, and must find out.
	doubted(s *core, err error) error
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
	s *core
}

func newSetWriter(s *core) *setWriter {
	w := &setWriter{s: s}
	w.groups = newGroups(parallelSets, w.run)
	return w
}

// writeRun carries out a write that each run makes: on SQLite and within
// Together as one of the members of a transaction, on PostgreSQL in a set.
func (s *core) writeRun(ctx context.Context, d durability, set setMember) error {
	if s.joinedWith(ctx) != nil {
		return s.write(ctx, d, set.alone)
	}
	m := &member{set: set, d: d}
	if s.sets == nil {
		return s.outages.Named(s.writer.write(ctx, m))
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
		w.s.cfg.Log.Warn("a set of writes is repeated one by one", "members", len(together), "error", err)
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

// alone carries out one member. Whether the set with it was committed may be
// unknown, so a start is looked for first; progress is safe to repeat.
func (w *setWriter) alone(m *member) {
	defer close(m.done)
	_ = m.set.doubted(w.s, errAlone)
	m.err = w.s.writer.write(m.ctx, &member{set: m.set, d: m.d})
}

func (w *setWriter) commit(group []*member) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), setTimeout, dbconn.ErrNoAnswer)
	defer cancel()
	conn, err := w.s.reader.Conn(ctx)
	if err != nil {
		return fmt.Errorf("take connection: %w", err)
	}
	defer conn.Close()
	t := &set{members: group}
	if err := conn.Raw(func(c any) error { t.conn = dbconn.PgxOf(c); return nil }); err != nil {
		return err
	}
	t.Tx = &Tx{Queries: gen.New(conn), s: w.s, ctx: ctx, db: conn, batch: newBatch()}
	t.batch.room.unwritten = map[flowKey]int64{}
	t.batch.room.startedBy = map[string]int64{}
	defer w.s.drop(t.batch)
	if err := t.carryOut(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", dbconn.ErrNoAnswer, err)
		}
		_, _ = t.conn.Exec(ctx, "ROLLBACK")
		return err
	}
	w.s.wake(t.batch)
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
	if n := t.batch.room.released; n > 0 {
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
	return t.conn.SendBatch(t.ctx, b).Close()
}

// planOnce makes PostgreSQL plan each statement over a set once on a connection,
// and look its rows up by their keys: it cannot know how short the arrays are.
const planOnce = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
	set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`

// decideStarts finds out which of the starts are accepted, and where they begin.
// Locks are taken in the order of a start that is alone.
func (t *set) decideStarts() error {
	var unclaim []*startWrite
	for _, m := range t.members {
		w, ok := m.set.(*startWrite)
		if !ok || m.err == errAlone {
			continue
		}
		if w.n.IdempotencyKey != "" && !t.claimed[w.row.ID] {
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
		w := m.set.(*startWrite)
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
		w := m.set.(*startWrite)
		t.steps = append(t.steps, rowsOf(w.steps)...)
		w.hand(t.Tx)
	}
	return t.dropClaims(unclaim)
}

func (t *set) decideStart(w *startWrite) error {
	if len(w.n.Document) > 0 || len(w.n.Files) > 0 || w.row.ParentRunID != "" {
		return errAlone
	}
	limits, err := t.flowLimits(flowKey{w.row.WorkspaceID, w.row.FlowID})
	if err != nil {
		return err
	}
	if limits.RunsPerDay > 0 || w.n.Key != nil && w.n.Key.RunsPerDay > 0 {
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
func (t *set) unwritten(w *startWrite, n int64) {
	t.batch.room.startedBy[w.row.KeyID] += n
	if w.row.Place == placeWorker {
		for _, k := range []flowKey{{}, {w.row.WorkspaceID, ""}, {w.row.WorkspaceID, w.row.FlowID}} {
			t.batch.room.unwritten[k] += n
		}
	}
}

// unstart takes back a decision about a start that is refused after all.
func (t *set) unstart(w *startWrite) {
	t.moved(w.row.WorkspaceID, w.row.FlowID, w.row.Place, placeEnded)
	t.unwritten(w, -1)
	if w.row.Place == placeWorker {
		t.batch.freed--
		t.untake(w.row.InstanceID)
	}
	t.batch.storage = t.batch.storage[:len(t.batch.storage)-1]
}

// isRefusal tells whether an error concerns one member alone, after which the
// transaction goes on.
func isRefusal(err error) bool {
	e, refused := errors.AsType[*flow.Error](err)
	refused = refused && e.Code != flow.CodeUnavailable && e.Code != flow.CodeOverloaded
	return refused || err == errAlone || errors.Is(err, flow.ErrKeyOutdated) || errors.Is(err, flow.ErrFlowOutdated)
}

func (t *set) dropClaims(list []*startWrite) error {
	var ws, names, runs []string
	for _, w := range list {
		if w.n.IdempotencyKey != "" {
			ws, names, runs = append(ws, w.row.WorkspaceID), append(names, w.n.IdempotencyKey), append(runs, w.row.ID)
		}
	}
	if len(ws) == 0 {
		return nil
	}
	_, err := t.conn.Exec(t.ctx, dropClaims, ws, names, runs)
	return err
}

// finish writes the rows and commits, in one round trip.
func (t *set) finish() error {
	b := &pgx.Batch{}
	var rows [][]any
	for _, m := range t.starts {
		rows = append(rows, startRow(&m.set.(*startWrite).row))
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
	if err := t.conn.SendBatch(t.ctx, b).Close(); err != nil {
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
