// Package core holds what all stores of package db share: the open database, its
// transactions, and the work that a transaction does once for all writes in it.
// That is admitting runs to workers, checking limits, quotas and budgets,
// updating counters, and handing jobs over after the commit. It also contains
// the statements that every run makes, and the encryption of secrets. It decides
// nothing about what a run does next and knows neither HTTP nor the workers of
// the queue.
//
// Where to start reading:
//
//   - open*.go: DB and how it is opened. vital.go: the reserved connections.
//   - write.go: Tx, the view of a transaction that a write function gets, and the
//     batch of changes that are stored before the commit.
//   - groups.go, write_sqlite.go: group commit. On SQLite many writes share one
//     transaction and one sync of the disk.
//   - write_postgres.go, commit_postgres.go: one transaction per write, retries,
//     and commits whose answer was lost.
//   - sets*.go: on PostgreSQL the writes that every run makes are executed as
//     sets, with one statement per table for many runs.
//   - admission*.go, counts.go, queue.go: which queued run gets a free slot, in
//     round-robin order of workspaces and keys, and handing it to a worker.
//   - runs*.go, steps.go: starting, loading and writing runs.
//   - reads.go: reads, repeated during outages. notifier.go, listen_postgres.go,
//     broadcast.go: notifications between instances.
//   - secrets.go: the encryption of stored secrets.
package core
