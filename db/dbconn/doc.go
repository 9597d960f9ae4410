// Package dbconn connects to SQLite and PostgreSQL: the settings and time limits
// of connections, how many of them are used at once, the clock that instances
// share, and what an error of either database means. It knows neither tables
// nor transactions.
package dbconn
