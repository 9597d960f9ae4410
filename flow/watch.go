package flow

import "context"

// Delta is streamed text of a step that is new to a subscriber. It is not stored; the outputs of
// the step are authoritative.
type Delta struct {
	Path      string `json:"path"`
	Attempt   int    `json:"attempt"`
	Text      string `json:"text,omitempty"`
	Reset     bool   `json:"reset,omitempty"`     // Text is all text of the attempt so far and replaces earlier text of the path
	Truncated bool   `json:"truncated,omitempty"` // the buffer is full; no more text of this attempt follows
}

// Peer is another instance on the same database.
type Peer struct {
	Instance string
	Addr     string // IP:PORT; empty if it has no address
}

// PeerText is a message from the instance that executes a run to another instance.
type PeerText struct {
	Deltas []Delta  `json:"deltas,omitempty"`
	Over   []string `json:"over,omitempty"` // paths of ended steps; no more text of them follows
	// Seq is the number of the newest recorded event. Text that steps streamed before it is in
	// this message or an earlier one.
	Seq int64 `json:"seq,omitempty"`
}

// Watch is a subscription to one run. Without streamed text, Texts, Read and Sync are nil. Sends
// on its channels never block: notifications coalesce, and unread text is merged into one Delta
// per step.
type Watch struct {
	Changes <-chan struct{} // the run may have changed in the store
	Texts   <-chan struct{} // a step has streamed text
	// Read returns the text since the last Read, of the attempts that ready accepts; the rest
	// stays for a later Read. ready must not block or use the Watch.
	Read func(ready func(path string, attempt int) bool) []Delta
	// Sync waits until the text that belongs to the read state of the run has arrived. Call it
	// between reading the store and Read, because text from another instance arrives on a
	// separate connection. It waits only briefly, and not at all for runs of this instance.
	Sync func(ctx context.Context, run *Run, steps []Step)
	Stop func() // must be called
}
