// Package e2e tests the real binary from outside: started from its command line,
// used over real HTTP and in a real browser, killed and started again.
//
// It owns the tests of promises that only the whole program can keep: that the first
// start leads to a first result, that webhooks verify, and that a crash at any moment
// loses, repeats and duplicates nothing. It uses the contract (paths, headers,
// commands, exit codes) and must not import the packages behind it.
//
// # Fixtures
//
// server is a process with its data directory, client an API key on it, fleet three
// servers on one PostgreSQL database under load, and dashboard a server with a browser.
// The file of a fixture has its methods; tests of one subject share a file.
//
// # Time
//
// A test must not fail because the machine is slow. Waits therefore end with an event
// and have one generous bound, waitTimeout, which only ends a test that hangs. If a
// promise contains a time, the test asserts its cause in a way that a slow machine does
// not change: an order of events, a count of heartbeats, a sum of timeouts. How fast
// things are is measured by "make bench".
package e2e
