package db

import (
	"sync"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/flow"
)

// Places of a run: who holds it.
const (
	placeEnded   int64 = 0
	placeQueue   int64 = 1
	placeWorker  int64 = 2 // a worker holds it, or a job that waits for one
	placeWaiting int64 = 3
	placeSuspect int64 = 4
)

// move is a run that went from one place to another.
type move struct {
	ws, flow string
	from, to int64
}

// flowKey names a flow; without flow a workspace, without both everything.
type flowKey struct{ ws, flow string }

// flowLimits bounds a flow and its workspace; 0 means no bound.
type flowLimits = gen.FindFlowLimitsRow

// room is what a transaction knows about free places. Each number is counted
// at most once per transaction and kept right by the moves after that.
type room struct {
	admitted  map[flowKey]int64
	queued    map[flowKey]int64 // as stored
	joined    map[flowKey]int64 // more than stored, by moves of this transaction
	limits    map[flowKey]flowLimits
	keys      map[string]*flow.Key    // by ID
	quotas    map[string]flow.Storage // by workspace
	stored    map[string]flow.Storage // by workspace, as committed
	lineEmpty bool                    // no delivery waits; false means unknown
	locked    bool

	// Of a set, whose starts are written last: how many decided ones are not among
	// the admitted rows, and how many of a key, by ID, are not among its open ones.
	unwritten map[flowKey]int64
	startedBy map[string]int64
	released  int // runs of the set whose place the queue has not got yet
}

func newRoom() room {
	return room{
		admitted: map[flowKey]int64{}, queued: map[flowKey]int64{},
		joined: map[flowKey]int64{}, limits: map[flowKey]flowLimits{}, keys: map[string]*flow.Key{},
		quotas: map[string]flow.Storage{}, stored: map[string]flow.Storage{},
	}
}

// moved notes that a row of a run has just been written with another place.
func (tx *Tx) moved(ws, flow string, from, to int64) {
	m := move{ws, flow, from, to}
	tx.batch.moves = append(tx.batch.moves, m)
	tx.batch.room.apply(m)
	if from == placeWorker {
		tx.batch.freed++
	}
}

func (r *room) apply(m move) {
	if d := dbconn.BoolInt(m.to == placeWorker) - dbconn.BoolInt(m.from == placeWorker); d != 0 {
		for _, k := range []flowKey{{}, {m.ws, ""}, {m.ws, m.flow}} {
			if n, counted := r.admitted[k]; counted {
				r.admitted[k] = n + d
			}
		}
	}
	if d := dbconn.BoolInt(m.to == placeQueue) - dbconn.BoolInt(m.from == placeQueue); d != 0 {
		r.joined[flowKey{m.ws, ""}] += d
		r.joined[flowKey{m.ws, m.flow}] += d
	}
	if m.to == placeQueue {
		r.lineEmpty = false
	}
}

// forgetLine is for a run that may be back in the queue without having joined it.
func (r *room) forgetLine() { r.lineEmpty = false }

// recount forgets what others may have changed before the lock was ours.
func (r *room) recount() {
	clear(r.admitted)
	clear(r.queued)
	r.lineEmpty = false
}

// count returns how many runs of the key are admitted.
func (tx *Tx) count(k flowKey) (n int64, err error) {
	if n, ok := tx.batch.room.admitted[k]; ok {
		return n, nil
	}
	switch {
	case k.ws == "":
		if n, known := tx.s.live.admitted(); known && tx.s.pool != nil && !tx.batch.room.locked {
			tx.batch.room.admitted[k] = n
			return n, nil
		}
		n, err = tx.CountAdmitted(tx.ctx)
	case k.flow == "":
		n, err = tx.CountAdmittedOfWorkspace(tx.ctx, k.ws)
	default:
		n, err = tx.CountAdmittedOfFlow(tx.ctx, gen.CountAdmittedOfFlowParams{WorkspaceID: k.ws, FlowID: k.flow})
	}
	if err == nil {
		n += tx.batch.room.unwritten[k]
		tx.batch.room.admitted[k] = n
	}
	return n, err
}

// flowLimits reads the limits of a flow; it also finds out whether it exists.
func (tx *Tx) flowLimits(k flowKey) (flowLimits, error) {
	if l, ok := tx.batch.room.limits[k]; ok {
		return l, nil
	}
	l, err := tx.FindFlowLimits(tx.ctx, gen.FindFlowLimitsParams{ID: k.flow, WorkspaceID: k.ws})
	if err != nil {
		return l, dbconn.NotFoundErr(err, "flow")
	}
	tx.haveLimits(k, l)
	return l, nil
}

func (tx *Tx) haveLimits(k flowKey, l flowLimits) {
	tx.batch.room.limits[k] = l
	tx.batch.room.quotas[k.ws] = tx.s.quotaOf(k.ws, flow.Storage{Bytes: l.QuotaBytes, Flows: l.QuotaFlows, Runs: l.QuotaRuns})
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
		l.running += dbconn.BoolInt(m.to == placeWorker) - dbconn.BoolInt(m.from == placeWorker)
	}
}

// capacity is how many runs may be admitted at once.
func (tx *Tx) capacity() (int64, error) {
	if tx.s.pool == nil {
		return tx.s.workers.Load(), nil
	}
	live := &tx.s.live
	live.mu.Lock()
	defer live.mu.Unlock()
	now := tx.s.cfg.Now()
	if !live.counted.IsZero() && now.Sub(live.counted).Abs() < time.Second {
		return live.n, nil
	}
	n, err := tx.CountWorkers(tx.ctx, tx.s.silentSince())
	if err != nil {
		return 0, err
	}
	if n == 0 { // before the first heartbeat
		n = tx.s.workers.Load()
	}
	live.n, live.counted = n, now
	return n, nil
}

func (l *liveWorkers) forget() {
	l.mu.Lock()
	l.counted = time.Time{}
	l.mu.Unlock()
}

// silentSince is the heartbeat that a living instance must have passed.
func (s *core) silentSince() int64 { return s.now() - s.cfg.InstanceTimeout.Microseconds() }
