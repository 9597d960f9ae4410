package flow

// Delta is what is new to one watcher of the text that a step passes on while
// it works. It is kept nowhere: what counts are the step's outputs.
type Delta struct {
	Path      string
	Attempt   int
	Text      string
	Reset     bool // Text is all that the attempt said so far; what was told of the path before is void
	Truncated bool // the step says more than is kept for watchers; no more of this attempt follows
}

// Watch follows one run. Its channels hold one poke at most and nobody waits
// for who does not take it: many changes become one poke, and text that was
// not read yet becomes one Delta.
type Watch struct {
	Changes <-chan struct{} // the run may have been written
	Texts   <-chan struct{} // a step has passed on text
	// Read returns the text that is new since the last Read, of the attempts
	// that ready takes; the rest is kept for a later Read. ready must return at
	// once and not use the Watch.
	Read func(ready func(path string, attempt int) bool) []Delta
	Stop func() // must be called
}
