// Package signature checks that an incoming webhook was sent by the service that it claims to come from, answers the handshakes
// by which services check an address, and finds the ID by which a service marks an event that it sends again.
//
// Every service is a row of one table over three ways to check a request: an HMAC, an Ed25519 signature, and a shared token.
// Only Twilio, which signs the address and sorted form fields, has code. Secrets are compared in constant time, over the bytes
// that were received and before anything is decoded.
//
// It must not depend on triggers, on how secrets are stored, or on what a request starts.
package signature
