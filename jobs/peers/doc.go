// Package peers owns the connections between the instances on one database. An
// instance streams the text of the steps that it works on to instances that request
// it. Text is in no table, and it is too frequent for database notifications.
//
// Both ends prove that they have the master key: connections are TLS 1.3 with a
// certificate derived from it, and each request is signed for one run, one target
// and a few seconds. A request travels as one HTTP/2 GET whose signed headers say
// everything; the response is a stream of length-prefixed JSON frames.
//
// Addresses come from the table of instances. They are inside a private network, so
// this package does not dial through package outbound, which exists to keep flows
// out of there.
//
// It must not know the database or how runs are executed: package jobs supplies the
// text and consumes it. Losing a connection loses no results, only live text until
// the reader reconnects.
package peers
