// Package triggers holds what starts runs of a flow without a caller: its configuration, its events, and the decision which
// planned times of a schedule start, in which order, and which were missed.
//
// It must not depend on how triggers are stored or shown, and has no clock.
package triggers
