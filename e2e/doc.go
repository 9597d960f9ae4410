// Package e2e tests Sluice as a stranger meets it: the real binary, started
// from its command line, over real HTTP, killed and started again.
//
// It owns the tests of what only the whole can promise: that a first start
// leads to a first answer, that webhooks verify, and that a crash at any moment
// loses, repeats and doubles nothing. It knows the contract (paths, headers,
// commands, exit codes) and must not reach into the packages behind it.
package e2e
