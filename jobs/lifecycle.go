package jobs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"sluice/flow"
)

const (
	heartbeatInterval = 5 * time.Second
	// startRetryInterval is the interval between attempts to start on a store that
	// cannot be written to.
	startRetryInterval = time.Second
	// listenRetryInterval is the wait before reconnecting to the notifications of other
	// instances.
	listenRetryInterval = time.Second
	// abortTimeout is how long aborted steps may take to stop, and how long the last
	// writes of a shutdown may take.
	abortTimeout = 1500 * time.Millisecond
)

// DrainGrace is how long Drain may take after its context has ended: aborted steps
// stop, then the rest of the runs is handed back.
const DrainGrace = 2 * abortTimeout

// Start recovers the work of dead workers, then starts workers and background
// loops. If the store is full or locked, Start returns nil anyway and runs are
// rejected; recovery is retried until the store can be written to.
func (r *Runner) Start(ctx context.Context) error {
	ctx, r.stopLoops = context.WithCancel(context.WithoutCancel(ctx))
	if r.shared { // before anything slow: without heartbeats an instance counts as dead
		r.loop(ctx, heartbeatInterval, r.heartbeat)
	}
	switch err := r.startWork(ctx); {
	case err == nil:
	case isTransient(err):
		r.rejectRuns(err)
		r.loops.Go(func() { r.retryStart(ctx) })
	default:
		r.stopLoops()
		r.loops.Wait()
		return err
	}
	return nil
}

// startWork recovers and starts the workers. It can be retried after an error.
func (r *Runner) startWork(ctx context.Context) error {
	if err := r.heartbeat(ctx); err != nil {
		return fmt.Errorf("announce this instance: %w", err)
	}
	r.cfg.Queue.accept()
	if !r.recovered {
		if err := r.recoverWork(ctx); err != nil {
			return err
		}
		r.recovered = true
	}
	if err := r.cfg.Queue.client.Start(ctx); err != nil {
		return fmt.Errorf("start the job queue: %w", r.store.PublicError(err))
	}
	r.startLoops(ctx)
	return nil
}

// startLoops starts the background work: due runs and deliveries, and the cleanup.
// Instances that share a database also recover the work of dead instances, compare their
// runs with the database, and exchange notifications and cancellations.
func (r *Runner) startLoops(ctx context.Context) {
	deliveries := newPoller(pollInterval, r.queueDueDeliveries)
	deliveries.wake = r.cfg.Queue.deliveriesDue
	r.startPollers(ctx, newPoller(pollInterval, r.queueDueRuns), deliveries, newPoller(pollInterval, scheduler{r}.decideDueTriggers),
		newPoller(time.Second, (&alarmWatcher{Runner: r}).lookAtAlarms), newPoller(pollInterval, messenger{r}.sendDueMessages), newPoller(cleanUpInterval, cleaner{r}.foldUsage), newPoller(cleanUpInterval, cleaner{r}.eraseUnsaved),
		newPoller(cleanUpInterval, cleaner{r}.expireRuns), newPoller(cleanUpInterval, cleaner{r}.cleanUp))
	r.loops.Go(func() { scheduler{r}.retimeTriggers(ctx) })
	r.loop(ctx, dropInterval, dropOldTests(r.store))
	r.loop(ctx, compactInterval, r.maintainKnowledge)
	if !r.shared {
		return
	}
	r.loop(ctx, recoverInterval, r.recoverWork)
	r.loop(ctx, r.cfg.ReconcileInterval, newReconciler(r).run)
	r.loop(ctx, saveBusyInterval, newBusySaver(r).run)
	r.loop(ctx, time.Second, r.pollCancels)
	r.loops.Go(func() { r.listen(ctx) })
}

// retryStart retries startWork until it succeeds or the Runner stops.
func (r *Runner) retryStart(ctx context.Context) {
	for sleep(ctx, startRetryInterval) && !r.Draining() {
		err := r.startWork(ctx)
		if err == nil {
			r.startError.Store(nil)
			r.log.Info("the store can be written to again: runs are accepted")
			return
		}
		if ctx.Err() == nil {
			r.rejectRuns(err)
		}
	}
}

// rejectRuns rejects new runs with err until startWork has succeeded.
func (r *Runner) rejectRuns(err error) {
	if r.startError.Swap(flow.AsError(err)) == nil {
		r.log.Error("runs are not accepted yet; retrying every second", "error", err)
	}
}

// isTransient reports whether an error can go away without a restart.
func isTransient(err error) bool {
	e, ok := errors.AsType[*flow.Error](err)
	return ok && (e.Code == flow.CodeStorageFull || e.Code == flow.CodeOverloaded || e.Code == flow.CodeUnavailable)
}

// heartbeat tells the other processes that this one is alive. lastHeartbeat is
// the time before the call: the database records a later one, so this process
// never believes to be alive for longer than the others do.
func (r *Runner) heartbeat(ctx context.Context) error {
	start := time.Since(r.epoch)
	err := r.store.Heartbeat(ctx, r.cfg.Instance, r.cfg.Workers)
	if err == nil {
		r.lastHeartbeat.Store(int64(start))
	}
	return err
}

// checkRunHeld returns an error if another process may have taken over the run
// because this one was frozen. Then this process must not call external services
// for the run.
func (r *Runner) checkRunHeld(ctx context.Context, runID flow.RunID, attempt int64) error {
	return r.checkHeld(ctx, "checking who holds "+string(runID), func() error { return r.store.HoldRun(ctx, runID, attempt) })
}

// checkHeld calls find, which asks the store whether this process still holds
// something, but only if the last heartbeat is so old that another process may
// have taken over. It sends a heartbeat first, which prevents takeovers after
// the answer. Times are from the monotonic clock.
func (r *Runner) checkHeld(ctx context.Context, what string, find func() error) error {
	if !r.shared || time.Since(r.epoch)-time.Duration(r.lastHeartbeat.Load()) < r.cfg.InstanceTimeout {
		return nil
	}
	return r.retry(ctx, what, func() error {
		if err := r.heartbeat(ctx); err != nil {
			return err
		}
		return find()
	})
}

// Drain lets running steps finish, except those that compute for long, returns the rest of their runs to the queue
// and stops the Runner. Steps that are still running when ctx ends are aborted
// and run again elsewhere. A store that cannot be written to is no error: then the
// recovery returns the runs to the queue.
func (r *Runner) Drain(ctx context.Context) error {
	r.mu.Lock() // no detached run starts after this
	repeated := r.Draining()
	if !repeated {
		close(r.drain)
	}
	r.mu.Unlock()
	if repeated {
		return nil
	}
	err := r.cfg.Queue.stop(ctx, abortTimeout)
	_ = waitGroup(ctx, &r.detached) // an error means that some are aborted below
	r.stopLoops()
	r.endLifetime()
	r.loops.Wait()
	finalCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	_ = waitGroup(finalCtx, &r.detached) // those that stopLoops aborted
	handBack := r.store.RequeueRuns(finalCtx, r.runsToRequeue())
	leave := r.store.LeaveInstance(finalCtx, r.cfg.Instance)
	if unwritable := errors.Join(handBack, leave); isTransient(unwritable) || errors.Is(unwritable, context.DeadlineExceeded) {
		// The work is handed back without this process: by another instance, or by the next start.
		r.log.Warn("the database cannot be written to at the shutdown; runs continue when it is back", "error", errors.Join(err, unwritable))
		return nil
	}
	if handBack != nil {
		err = errors.Join(err, fmt.Errorf("hand runs back: %w", handBack))
	}
	if leave != nil {
		err = errors.Join(err, fmt.Errorf("remove this instance: %w", leave))
	}
	return err
}

// runsToRequeue returns the attempt numbers of the runs that a shutdown returns to the
// queue, by run ID.
func (r *Runner) runsToRequeue() map[flow.RunID]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.toRequeue)
}

// listen passes on notifications of runs that other processes wrote. After an
// interruption it reconnects; the store then reports that anything may have been
// written.
func (r *Runner) listen(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.store.Listen(ctx, func(runID flow.RunID) {
			if runID == "" {
				r.broker.notifyAll()
			} else {
				r.broker.notify(runID)
			}
		})
		if err != nil && ctx.Err() == nil {
			r.log.Warn("lost the notifications of other instances; reconnecting", "error", err)
			sleep(ctx, listenRetryInterval)
		}
	}
}
