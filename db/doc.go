// Package db is the store: a small store for each noun (runs, flows, keys,
// users …) on SQLite or PostgreSQL behind one set of SQL, and backups of all of
// it. Connections, transactions and the admission of runs are in the packages
// beneath. It decides nothing about what a run does next, opens no connections
// except to the database, and knows neither HTTP nor the queue's workers.
package db
