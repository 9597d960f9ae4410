// Package dbtest gives tests real stores: SQLite in a temporary directory and
// a private PostgreSQL server. It owns that server's life and knows nothing of
// what is stored.
package dbtest
