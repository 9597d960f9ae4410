// Package hostedtest is a stand-in for Replicate's HTTP API in tests: models,
// predictions with scripted progress, event streams, files, collections,
// search, and faults on demand. The platform's own npm client runs against it,
// which keeps it honest. It owns the wire format as the platform documents it
// and knows nothing of the client under test.
package hostedtest
