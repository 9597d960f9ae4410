package flow

import "context"

// Delta is what is new to one watcher of the text that a step passes on while
// it works. It is kept nowhere: what counts are the step's outputs.
type Delta struct {
	Path      string `json:"path"`
	Attempt   int    `json:"attempt"`
	Text      string `json:"text,omitempty"`
	Reset     bool   `json:"reset,omitempty"`     // Text is all that the attempt said so far; what was told of the path before is void
	Truncated bool   `json:"truncated,omitempty"` // the step says more than is kept for watchers; no more of this attempt follows
}

// Peer is another instance on the same database.
type Peer struct {
	Instance string
	Addr     string // IP:PORT; empty if it has no address
}

// PeerText is a piece of what one instance passes to another about a run that it
// works on.
type PeerText struct {
	Deltas []Delta  `json:"deltas,omitempty"`
	Over   []string `json:"over,omitempty"` // paths of steps that have ended: no more text follows
	// Seq is the number of the newest event that is recorded. Text that steps
	// passed on before it is in this piece or an earlier one.
	Seq int64 `json:"seq,omitempty"`
}

// Watch follows one run, with or without its text: without it Texts, Read and
// Sync are nil. Its channels hold one poke at most and nobody waits
// for who does not take it: many changes become one poke, and text that was
// not read yet becomes one Delta.
type Watch struct {
	Changes <-chan struct{} // the run may have been written
	Texts   <-chan struct{} // a step has passed on text
	// Read returns the text that is new since the last Read, of the attempts
	// that ready takes; the rest is kept for a later Read. ready must return at
	// once and not use the Watch.
	Read func(ready func(path string, attempt int) bool) []Delta
	// Sync waits until the text that belongs to what was read from the store has
	// arrived. It must be called between reading the store and Read, because text
	// of a run that another instance works on comes on a connection of its own.
	// It waits for a moment at most, and not at all for runs of this instance.
	Sync func(ctx context.Context, run *Run, steps []Step)
	Stop func() // must be called
}
