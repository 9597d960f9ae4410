// Package webtest is what the tests of the rooms share: a dashboard with a real
// store, engine and node kinds behind it, and clients that send what browsers
// send. Only tests import it.
package webtest
