// Package jobs executes accepted runs: it starts them, works on each of them as
// one job, cancels, wakes and recovers them, sends webhook deliveries on their
// retry schedule, and erases what has expired.
//
// It owns the queue, the workers, the background loops and the broker that
// notifies readers of a run. It must not know HTTP routes, SQL or what a node
// kind does: package flow plans and executes runs, and everything stored is
// reached through the Store interface.
//
// Three invariants hold everywhere:
//
//   - Commit first. A run is committed together with its job before StartRun
//     returns, a step before a step that depends on it starts, and an end before
//     anybody is notified of it. A crash therefore loses work but no promise.
//   - Fencing. Taking over a run or a delivery increments its attempt number.
//     Writes under an older number fail with flow.ErrFenced, so an instance that
//     was frozen cannot overwrite its successor's work.
//   - Memory is a cache. Whatever a Runner keeps can be rebuilt from the store;
//     a lost notification delays work until the next poll and no longer.
package jobs
