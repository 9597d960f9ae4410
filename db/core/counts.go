package core

import (
	"sync"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Places of a run: the column place says who holds it. The place is stored next to
// the state because both queues and limits depend on it: runs with place > 0 are in
// the partial index runs_open, so the cost of counting them does not depend on how
// many runs have ended.
//
// Every time a run is handed to a worker its attempt number increases. A write
// contains the attempt that its worker was given and is refused with ErrFenced if it
// is no longer current. So a worker that was believed dead cannot overwrite the work
// of its successor.
const (
	PlaceEnded   int64 = 0 // also the place before the start
	placeQueue   int64 = 1 // waits for a free slot
	PlaceWorker  int64 = 2 // a worker holds it, or a job that waits for one
	PlaceWaiting int64 = 3 // waits for a time or an event and needs no slot
	PlaceSuspect int64 = 4 // held back by recovery, see flow.Suspect
)

// move is a run that went from one place to another.
type move struct {
	ws       flow.WorkspaceID
	flow     flow.FlowID
	from, to int64
}

// FlowKey identifies a flow, or a workspace if flow is empty, or the whole
// database if both are empty.
type FlowKey struct {
	ws   flow.WorkspaceID
	flow flow.FlowID
}

// flowLimits are the limits of a flow and its workspace; 0 means no limit.
type flowLimits = gen.FindFlowLimitsRow

// counts holds the counts and limits that a transaction bases admissions on. Each
// number is read at most once per transaction and kept up to date by its moves.
type counts struct {
	admitted   map[FlowKey]int64
	queued     map[FlowKey]int64 // as stored
	joined     map[FlowKey]int64 // more than stored, by moves of this transaction
	Limits     map[FlowKey]flowLimits
	keys       map[string]*flow.Key              // by ID
	Quotas     map[flow.WorkspaceID]flow.Storage // by workspace
	stored     map[flow.WorkspaceID]flow.Storage // by workspace, as committed
	spent      map[spentOf]int64                 // in nano-dollars, without this transaction
	queueEmpty bool                              // no run is queued; false means unknown
	locked     bool

	// In a set, starts are written last. These are the accepted starts that are not
	// in the table yet: the admitted ones, and all of a key by its ID.
	unwritten map[FlowKey]int64
	startedBy map[string]int64
	released  int // runs of the set whose slots were freed but not yet given to queued runs
}

// newCounts returns the counts of a new batch, which are read or added when first needed.
func newCounts() counts {
	return counts{
		admitted: map[FlowKey]int64{}, queued: map[FlowKey]int64{},
		joined: map[FlowKey]int64{}, Limits: map[FlowKey]flowLimits{}, keys: map[string]*flow.Key{},
		Quotas: map[flow.WorkspaceID]flow.Storage{}, stored: map[flow.WorkspaceID]flow.Storage{},
		spent: map[spentOf]int64{},
	}
}

// RecordMove records that the place of a run has just been changed.
func (tx *Tx) RecordMove(ws flow.WorkspaceID, flow flow.FlowID, from, to int64) {
	m := move{ws, flow, from, to}
	tx.Batch.moves = append(tx.Batch.moves, m)
	tx.Batch.Counts.apply(m)
	if from == PlaceWorker {
		tx.Batch.freed++
	}
}

// apply updates the counts for a move.
func (r *counts) apply(m move) {
	if d := dbconn.BoolInt(m.to == PlaceWorker) - dbconn.BoolInt(m.from == PlaceWorker); d != 0 {
		for _, k := range []FlowKey{{}, {m.ws, ""}, {m.ws, m.flow}} {
			if n, counted := r.admitted[k]; counted {
				r.admitted[k] = n + d
			}
		}
	}
	if d := dbconn.BoolInt(m.to == placeQueue) - dbconn.BoolInt(m.from == placeQueue); d != 0 {
		r.joined[FlowKey{m.ws, ""}] += d
		r.joined[FlowKey{m.ws, m.flow}] += d
	}
	if m.to == placeQueue {
		r.queueEmpty = false
	}
}

// forgetQueue is called when a rollback may have returned a run to the queue.
func (r *counts) forgetQueue() { r.queueEmpty = false }

// recount drops the counts that other transactions may have changed before this
// one got the admission lock.
func (r *counts) recount() {
	clear(r.admitted)
	clear(r.queued)
	r.queueEmpty = false
}

// count returns how many runs of the key are admitted.
func (tx *Tx) count(k FlowKey) (n int64, err error) {
	if n, ok := tx.Batch.Counts.admitted[k]; ok {
		return n, nil
	}
	switch {
	case k.ws == "":
		if n, known := tx.Store.Live.admitted(); known && tx.Store.IsPostgres() && !tx.Batch.Counts.locked {
			tx.Batch.Counts.admitted[k] = n
			return n, nil
		}
		n, err = tx.Queries.CountAdmitted(tx.Ctx)
	case k.flow == "":
		n, err = tx.Queries.CountAdmittedOfWorkspace(tx.Ctx, k.ws)
	default:
		n, err = tx.Queries.CountAdmittedOfFlow(tx.Ctx, gen.CountAdmittedOfFlowParams{WorkspaceID: k.ws, FlowID: k.flow})
	}
	if err == nil {
		n += tx.Batch.Counts.unwritten[k]
		tx.Batch.Counts.admitted[k] = n
	}
	return n, err
}

// FlowLimits returns the limits of a flow, or CodeNotFound if it does not exist.
func (tx *Tx) FlowLimits(k FlowKey) (flowLimits, error) {
	if l, ok := tx.Batch.Counts.Limits[k]; ok {
		return l, nil
	}
	l, err := tx.Queries.FindFlowLimits(tx.Ctx, gen.FindFlowLimitsParams{ID: k.flow, WorkspaceID: k.ws})
	if err != nil {
		return l, dbconn.NotFoundErr(err, "flow")
	}
	tx.cacheLimits(k, l)
	return l, nil
}

// cacheLimits keeps the limits that were read of a flow for the rest of the batch, with
// the quotas of its workspace.
func (tx *Tx) cacheLimits(k FlowKey, l flowLimits) {
	tx.Batch.Counts.Limits[k] = l
	if l.UsdPerDay > 0 {
		tx.Store.Recent.limited.Add(k.flow, struct{}{})
	}
	tx.Batch.Counts.Quotas[k.ws] = flow.Storage{Bytes: l.QuotaBytes, Flows: l.QuotaFlows, Runs: l.QuotaRuns}.WithDefaults(k.ws, tx.Store.Config.Quota)
}

// liveWorkers caches the number of workers of all living instances for a
// second: it changes when an instance comes or goes.
type liveWorkers struct {
	mu      sync.Mutex
	n       int64
	counted time.Time

	// running is the number of admitted runs when last counted, plus the changes of
	// this process since then. Changes of others show at the next count.
	running        int64
	runningCounted time.Time
}

// recountAfter is how long a count of admitted runs is used. Near a limit, runs
// are counted exactly under a lock.
const recountAfter = 200 * time.Millisecond

// admitted returns the number of running runs as of the last count. known is false if it is
// older than recountAfter, so that the caller has to count again.
func (l *liveWorkers) admitted() (n int64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, !l.runningCounted.IsZero() && time.Since(l.runningCounted) < recountAfter
}

// setAdmitted stores a fresh count of running runs for the next recountAfter.
func (l *liveWorkers) setAdmitted(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.runningCounted = n, time.Now()
}

// applyMoves adds the changes of a transaction of this process.
func (l *liveWorkers) applyMoves(moves []move) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moves {
		l.running += dbconn.BoolInt(m.to == PlaceWorker) - dbconn.BoolInt(m.from == PlaceWorker)
	}
}

// capacity returns how many runs may be admitted at once by all instances.
func (tx *Tx) capacity() (int64, error) {
	if !tx.Store.IsPostgres() {
		return tx.Store.Workers.Load(), nil
	}
	live := &tx.Store.Live
	live.mu.Lock()
	defer live.mu.Unlock()
	now := tx.Store.Config.Now()
	if !live.counted.IsZero() && now.Sub(live.counted).Abs() < time.Second {
		return live.n, nil
	}
	n, err := tx.Queries.CountWorkers(tx.Ctx, tx.Store.SilentSince())
	if err != nil {
		return 0, err
	}
	if n == 0 { // before the first heartbeat
		n = tx.Store.Workers.Load()
	}
	live.n, live.counted = n, now
	return n, nil
}

// Forget makes the next call of capacity count the workers again.
func (l *liveWorkers) Forget() {
	l.mu.Lock()
	l.counted = time.Time{}
	l.mu.Unlock()
}

// SilentSince returns the time before which the last heartbeat of an instance must
// be for the instance to count as dead.
func (s *DB) SilentSince() int64 { return s.NowMicros() - s.Config.InstanceTimeout.Microseconds() }

// FlowKeyOf returns the key of a flow.
func FlowKeyOf(workspaceID flow.WorkspaceID, flowID flow.FlowID) FlowKey {
	return FlowKey{workspaceID, flowID}
}
