package core

import (
	"errors"
	"sync/atomic"
	"time"

	"sluice/flow"
	"sluice/flow/cache"
)

// A caller whose start was refused may try again as fast as it can. Such refusals are decided from
// memory, because each transaction takes time from other callers.
//
// A refusal of a budget holds until midnight or until somebody changes a limit. Changes of other
// instances are noticed when it is decided again, after budgetRefused. A refusal because too many runs
// are open holds until one of them ends, or for crowdRefused, because it may end on another instance.
const (
	budgetRefused = 200 * time.Millisecond
	crowdRefused  = 20 * time.Millisecond
)

// refusals remembers refused starts. It is safe for concurrent use.
type refusals struct {
	list    cache.Cache[starter, refusal]
	limits  atomic.Int64 // number of changes of keys and limits
	changed atomic.Int64 // number of commits after which a refused start may be possible
}

// starter is who starts what.
type starter struct {
	flow  FlowKey
	keyID string
}

// keyLimits are the limits of a key that refusals depend on.
type keyLimits struct {
	usd               flow.NanoUSD
	runs, concurrency int64
	unpriced          bool
}

// refusal is a refused start.
type refusal struct {
	err             *flow.Error
	key             keyLimits
	day             string
	limits, changed int64 // of refusals, before it was decided
	until           time.Time
}

// newRefusals returns an empty memory.
func newRefusals() *refusals { return &refusals{list: cache.New[starter, refusal](recentStarts)} }

// begin returns what is known of a start: an error if it is refused, and otherwise a function that
// remembers the error with which it ends.
func (r *refusals) begin(n *flow.NewRun, now time.Time) (remember func(error), known error) {
	if n.Key != nil && len(n.Key.Makers) > 0 || n.Occurrence != nil || n.Free {
		return func(error) {}, nil // it depends on the limits of several keys, is recorded, or needs no budget
	}
	who := starter{FlowKey{n.Run.WorkspaceID, n.Run.FlowID}, n.Run.KeyID}
	next := refusal{day: DayOf(now), limits: r.limits.Load(), changed: r.changed.Load()}
	if k := n.Key; k != nil {
		next.key = keyLimits{k.USDPerDay, k.RunsPerDay, k.Concurrency, k.AllowUnpriced}
	}
	last, found := r.list.Get(who)
	if found && last.key == next.key && last.day == next.day && last.limits == next.limits && time.Now().Before(last.until) &&
		(last.err.Code == flow.CodeBudgetExceeded || last.changed == next.changed) {
		e := *last.err
		return nil, &flow.RememberedRefusal{Err: &e}
	}
	return func(err error) {
		e, _ := errors.AsType[*flow.Error](err)
		if e == nil {
			return
		}
		switch e.Code {
		case flow.CodeBudgetExceeded:
			next.until = time.Now().Add(budgetRefused)
		case flow.CodeConcurrencyLimited, flow.CodeQueueFull:
			next.until = time.Now().Add(crowdRefused)
		default:
			return
		}
		next.err = e
		r.list.Add(who, next)
	}, nil
}

// committed notes the changes of a committed batch.
func (r *refusals) committed(b *batch) {
	if b.KeysChanged || b.LimitsChanged {
		r.limits.Add(1)
	}
	for _, m := range b.moves {
		if m.from == PlaceWorker || m.from == placeQueue || m.to == PlaceEnded {
			r.changed.Add(1)
			return
		}
	}
}
