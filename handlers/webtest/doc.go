// Package webtest is shared by the tests of the handlers: it runs a server with a
// real store, engine and node kinds, and has clients that send what browsers send.
// Only tests import it.
package webtest
