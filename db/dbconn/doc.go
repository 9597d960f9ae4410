// Package dbconn connects to SQLite and PostgreSQL: the settings and time limits of
// connections, how many of them are used at once, the clock that instances share,
// and the meaning of errors of either database. It also has the helpers to convert
// rows. It knows neither tables nor transactions.
package dbconn
