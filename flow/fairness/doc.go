// Package fairness decides what may start when there is more to do than slots:
// whether a queue or a key's limit is reached, how deliveries share the slots of
// all instances, how failed attempts of a client slow down the next ones, and
// which run is suspected of a crash. All of it is pure: callers read the state
// and carry out the decision.
package fairness
