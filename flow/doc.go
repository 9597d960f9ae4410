// Package flow is the domain: flow documents, values and their types, node kinds
// as declarations, runs, steps and deliveries with their states, keys, limits
// and errors. The packages beneath it work on these: document parses and edits,
// engine plans and executes runs, library holds the use cases.
//
// It must not know how anything is stored, queued, sent or shown: it imports no
// other package of Sluice, opens no connection and reads no clock of its own.
// Everything else points here.
package flow
