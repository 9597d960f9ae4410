package core

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"sluice/db/dbconn"
)

// A sync of the disk takes milliseconds, whether it stores one write or a hundred. So
// writes are not committed one by one. While a transaction is in progress, further
// writes gather, and the next transaction carries all of them out. Without load, a
// write does not wait for others.

// maxGroup bounds the members of one transaction, and so the wait of the first.
const maxGroup = 128

// overtakeAfter is the time after which another transaction may begin while one
// is in progress. Fewer and larger transactions cost less, but one that waits for
// a lock or for a stalled server must not delay the others.
const overtakeAfter = 100 * time.Millisecond

// groups implements group commit: it gathers the waiting writes of many callers
// and carries them out in one transaction.
type groups struct {
	next    chan struct{}   // a token, held by a loop from gathering until its transaction ends or may be overtaken
	run     func([]*member) // executes the members and closes the done channel of each
	Waiting chan *member
	closing chan struct{}
	once    sync.Once
	loops   sync.WaitGroup
	done    chan struct{}
}

// member is one caller's write.
type member struct {
	fn    func(*Tx) error
	set   setMember // instead of fn, for the writes that every run makes
	d     Durability
	ctx   context.Context // the caller's
	since time.Time       // when it began to wait
	begun atomic.Bool     // from then on the caller's context no longer matters
	err   error
	done  chan struct{}
}

// newGroups starts one loop for each transaction that may run concurrently.
func newGroups(parallel int, run func([]*member)) *groups {
	g := &groups{run: run, next: make(chan struct{}, 1), Waiting: make(chan *member, 4*maxGroup), closing: make(chan struct{}), done: make(chan struct{})}
	g.next <- struct{}{}
	for range parallel {
		g.loops.Go(g.loop)
	}
	go func() {
		g.loops.Wait()
		close(g.done)
	}()
	return g
}

// execute runs the member's statements. It turns a panic into the member's
// error, so that the other members of the transaction are not affected.
func (m *member) execute(tx *Tx) error {
	if m.set != nil {
		return recoverPanic(m.set.ExecuteAlone, tx)
	}
	return recoverPanic(m.fn, tx)
}

// write waits until the member is committed or has failed. If the context ends
// before the transaction begins, the member is dropped.
func (g *groups) write(ctx context.Context, m *member) error {
	m.ctx, m.since, m.done = ctx, time.Now(), make(chan struct{})
	select {
	case <-g.closing:
		return dbconn.ErrClosed
	default:
	}
	select {
	case g.Waiting <- m:
	case <-g.closing:
		return dbconn.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-m.done:
		return m.err
	case <-g.done:
		return g.closedWhile(m)
	case <-ctx.Done():
		if m.begun.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		<-m.done
		return m.err
	}
}

// closedWhile returns the result of a member that was waiting when the writer
// stopped: it was either among the last to run, or came too late.
func (g *groups) closedWhile(m *member) error {
	select {
	case <-m.done:
		return m.err
	default:
		return dbconn.ErrClosed
	}
}

// close executes the writes that are waiting and stops the loops.
func (g *groups) close() error {
	g.once.Do(func() { close(g.closing) })
	<-g.done
	return nil
}

// loop commits one group after the other until it is closed, and then what is still waiting.
// While a group commits, the writes that arrive wait and form the next one, so the size of
// groups adapts to the load.
func (g *groups) loop() {
	group := make([]*member, 0, maxGroup)
	for {
		<-g.next
		select {
		case m := <-g.Waiting:
			group = g.gather(append(group[:0], m))
		case <-g.closing:
			if group = g.gather(group[:0]); len(group) == 0 {
				g.next <- struct{}{}
				return
			}
		}
		g.execute(group)
	}
}

// execute runs a group and lets the next loop gather when it is done, or after
// overtakeAfter.
func (g *groups) execute(group []*member) {
	release := sync.OnceFunc(func() { g.next <- struct{}{} })
	defer release()
	if len(group) > 0 {
		defer time.AfterFunc(overtakeAfter, release).Stop()
		g.run(group)
	}
}

// gather adds the writes that are already waiting and drops those whose caller
// has given up.
func (g *groups) gather(group []*member) []*member {
	for len(group) < maxGroup {
		select {
		case m := <-g.Waiting:
			group = append(group, m)
			continue
		default:
		}
		break
	}
	stay := group[:0]
	for _, m := range group {
		if m.begun.CompareAndSwap(false, true) {
			stay = append(stay, m)
		}
	}
	return stay
}
