// Package flow is the domain: the flow document and its validation, values and
// their types, node kinds as declarations, runs and steps with their states,
// the pure planner that decides what a run does next, and the engine that
// carries the planner's decisions out through small interfaces.
//
// It must not know how anything is stored, queued, sent or shown: it imports
// no other package of Sluice, opens no connection and reads no clock of its
// own. Everything else points here.
package flow
