package core

import (
	"sync"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Places of a run: who holds it.
const (
	PlaceEnded   int64 = 0
	placeQueue   int64 = 1
	PlaceWorker  int64 = 2 // a worker holds it, or a job that waits for one
	PlaceWaiting int64 = 3
	PlaceSuspect int64 = 4
)

// move is a run that went from one place to another.
type move struct {
	ws, flow string
	from, to int64
}

// FlowKey names a flow; without flow a workspace, without both everything.
type FlowKey struct{ ws, flow string }

// FlowLimits bounds a flow and its workspace; 0 means no bound.
type flowLimits = gen.FindFlowLimitsRow

// room holds the counts that a transaction decides admission by. Each number is
// read at most once per transaction and kept up to date by its moves.
type room struct {
	admitted   map[FlowKey]int64
	queued     map[FlowKey]int64 // as stored
	joined     map[FlowKey]int64 // more than stored, by moves of this transaction
	Limits     map[FlowKey]flowLimits
	keys       map[string]*flow.Key    // by ID
	Quotas     map[string]flow.Storage // by workspace
	stored     map[string]flow.Storage // by workspace, as committed
	queueEmpty bool                    // no delivery waits; false means unknown
	locked     bool

	// Of a set, whose starts are written last: how many decided ones are not among
	// the admitted rows, and how many of a key, by ID, are not among its open ones.
	unwritten map[FlowKey]int64
	startedBy map[string]int64
	released  int // runs of the set whose place the queue has not got yet
}

func newRoom() room {
	return room{
		admitted: map[FlowKey]int64{}, queued: map[FlowKey]int64{},
		joined: map[FlowKey]int64{}, Limits: map[FlowKey]flowLimits{}, keys: map[string]*flow.Key{},
		Quotas: map[string]flow.Storage{}, stored: map[string]flow.Storage{},
	}
}

// Moved notes that a row of a run has just been written with another place.
func (tx *Tx) Moved(ws, flow string, from, to int64) {
	m := move{ws, flow, from, to}
	tx.Batch.moves = append(tx.Batch.moves, m)
	tx.Batch.Counts.apply(m)
	if from == PlaceWorker {
		tx.Batch.freed++
	}
}

func (r *room) apply(m move) {
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

// forgetQueue is for a run that may be back in the queue without having joined it.
func (r *room) forgetQueue() { r.queueEmpty = false }

// recount forgets what others may have changed before the lock was ours.
func (r *room) recount() {
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
		if n, known := tx.Store.Live.admitted(); known && tx.Store.pool != nil && !tx.Batch.Counts.locked {
			tx.Batch.Counts.admitted[k] = n
			return n, nil
		}
		n, err = tx.CountAdmitted(tx.Ctx)
	case k.flow == "":
		n, err = tx.CountAdmittedOfWorkspace(tx.Ctx, k.ws)
	default:
		n, err = tx.CountAdmittedOfFlow(tx.Ctx, gen.CountAdmittedOfFlowParams{WorkspaceID: k.ws, FlowID: k.flow})
	}
	if err == nil {
		n += tx.Batch.Counts.unwritten[k]
		tx.Batch.Counts.admitted[k] = n
	}
	return n, err
}

// FlowLimits reads the limits of a flow; it also finds out whether it exists.
func (tx *Tx) FlowLimits(k FlowKey) (flowLimits, error) {
	if l, ok := tx.Batch.Counts.Limits[k]; ok {
		return l, nil
	}
	l, err := tx.FindFlowLimits(tx.Ctx, gen.FindFlowLimitsParams{ID: k.flow, WorkspaceID: k.ws})
	if err != nil {
		return l, dbconn.NotFoundErr(err, "flow")
	}
	tx.haveLimits(k, l)
	return l, nil
}

func (tx *Tx) haveLimits(k FlowKey, l flowLimits) {
	tx.Batch.Counts.Limits[k] = l
	tx.Batch.Counts.Quotas[k.ws] = tx.Store.QuotaOf(k.ws, flow.Storage{Bytes: l.QuotaBytes, Flows: l.QuotaFlows, Runs: l.QuotaRuns})
}

// liveWorkers caches the number of workers of all living instances for a
// second: it changes when an instance comes or goes.
type liveWorkers struct {
	mu      sync.Mutex
	n       int64
	counted time.Time

	// running is how many runs are admitted, as last counted and with what this
	// process has done since; what others do is seen at the next count.
	running        int64
	runningCounted time.Time
}

// recountAfter is how long the number of admitted runs is not counted again. A
// limit that is near is counted exactly, under a lock.
const recountAfter = 200 * time.Millisecond

func (l *liveWorkers) admitted() (n int64, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running, !l.runningCounted.IsZero() && time.Since(l.runningCounted) < recountAfter
}

func (l *liveWorkers) haveAdmitted(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running, l.runningCounted = n, time.Now()
}

// committed adds what a transaction of this process has changed.
func (l *liveWorkers) committed(moves []move) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range moves {
		l.running += dbconn.BoolInt(m.to == PlaceWorker) - dbconn.BoolInt(m.from == PlaceWorker)
	}
}

// capacity is how many runs may be admitted at once.
func (tx *Tx) capacity() (int64, error) {
	if tx.Store.pool == nil {
		return tx.Store.Workers.Load(), nil
	}
	live := &tx.Store.Live
	live.mu.Lock()
	defer live.mu.Unlock()
	now := tx.Store.Config.Now()
	if !live.counted.IsZero() && now.Sub(live.counted).Abs() < time.Second {
		return live.n, nil
	}
	n, err := tx.CountWorkers(tx.Ctx, tx.Store.SilentSince())
	if err != nil {
		return 0, err
	}
	if n == 0 { // before the first heartbeat
		n = tx.Store.Workers.Load()
	}
	live.n, live.counted = n, now
	return n, nil
}

func (l *liveWorkers) Forget() {
	l.mu.Lock()
	l.counted = time.Time{}
	l.mu.Unlock()
}

// SilentSince is the heartbeat that a living instance must have passed.
func (s *DB) SilentSince() int64 { return s.NowMicros() - s.Config.InstanceTimeout.Microseconds() }

// FlowKeyOf names a flow of a workspace.
func FlowKeyOf(workspaceID, flowID string) FlowKey { return FlowKey{workspaceID, flowID} }
