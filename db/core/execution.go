package core

// Execution stores runs in progress and their steps: starting, claiming,
// recording and ending them, and admitting queued ones.
type Execution struct{ *DB }
