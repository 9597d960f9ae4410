// Package peers owns the connections between the instances on one database. An
// instance passes the text of steps that it works on to instances that ask for
// it, because text is in no table and too frequent for notifications.
//
// Both ends prove that they have the master key: connections are TLS 1.3 with a
// certificate that each instance derives from it, and each request is signed for
// one run, one target and a few seconds. Addresses come from the table of
// instances. They are inside a private network, so this package does not dial
// through package outbound, which exists to keep flows out of there.
//
// It must not know the database or how runs are worked on: package jobs gives it
// the text and takes it.
package peers
