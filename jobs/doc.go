// Package jobs makes accepted runs happen: it starts them, works on them with
// one River job per run, cancels, wakes and recovers them, sends webhook
// deliveries on their schedule, and lets old runs expire.
//
// It owns the queue, the workers, the timers and who waits for which run. It
// must not know HTTP routes, SQL or what a node kind does: runs are planned and
// carried out by package flow, and what is stored is reached through the Store
// interface.
package jobs
