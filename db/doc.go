// Package db is the store: a small store for each noun (runs, flows, keys,
// users …) on SQLite or PostgreSQL with one set of SQL. Package flow makes the
// decisions; db reads and writes. It opens no connections except to the
// database, and knows neither HTTP nor the workers of the queue.
//
// Store embeds one type per noun, so callers can write store.FindKey or
// store.Keys.FindKey. The methods of a noun are in the file of its name: keys.go,
// flows.go, versions.go … The packages beneath are
//
//   - core: the open database, transactions, the admission of runs, and the
//     statements that every run makes
//   - dbconn: connections, their limits and errors, and helpers for rows
//   - children: the child runs of steps
//   - parts: outputs of steps that are too large for one row
//   - slugs: the current and former slugs of flows
//   - webhooks: deliveries, endpoints and signing secrets
//   - blobs: the content of files
//   - backup: backups of SQLite databases
//   - masterkey, auditkeys: the key of stored secrets, and those of the audit log
//   - lists: queries of filtered lists, which are built at run time
//   - migrations: the schema
//   - queries, gen: SQL with named parameters, and the Go code that sqlc
//     generates from it
//   - dbtest: real databases for tests
//
// Times are stored in microseconds since 1970 (UTC), flags as 0 or 1, and JSON as
// text. A time of 0 and an empty text mean that there is no value. Queries use the
// placeholders of PostgreSQL; package dbconn rewrites them for SQLite.
package db
