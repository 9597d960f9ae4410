// Package fairness decides what may start when there is more work than slots:
// whether a queue or a key's limit is reached, how deliveries share the slots of
// all instances, how failed attempts of a client slow down the next ones, and
// which run is suspected of a crash. All functions are pure: callers load the state
// and apply the decision.
package fairness
