// Package db is the store: flows, keys, runs, steps, deliveries, credentials
// and what belongs to them, on SQLite or PostgreSQL behind one set of SQL. It
// owns the schema, the transactions, the secrets at rest and the admission of
// runs to workers. It decides nothing about what a run does next, speaks to
// nobody outside the machine, and knows neither HTTP nor the queue's workers:
// it hands jobs to a Queue and leaves the rest to it.
package db
