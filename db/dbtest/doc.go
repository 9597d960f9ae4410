// Package dbtest provides real databases for tests: SQLite in a temporary directory
// and a private PostgreSQL server. It knows nothing about the content.
//
// Most tests call Each, SQLite or Postgres, which return a migrated, empty store in
// milliseconds: SQLite copies a template file, and PostgreSQL reuses the databases of
// tests that have finished. The TestMain of the package calls Main, which stops the
// shared server. Tests of outages use NewServer for a server that they can stop, and
// NewProxy to break connections. PgBouncer puts a pooler in front of a database.
//
// If PostgreSQL is not installed, these tests are skipped, or fail where package need
// requires all tools.
package dbtest
