// Package inflight bounds the memory that values take while the process works on them.
//
// One [Budget] counts the bytes of everything large that is in flight: bodies that were received,
// values that were decoded from them, and the inputs and outputs of runs that have a worker.
// Requests and runs take memory from the budget before they use it and wait for their turn;
// workspaces take turns, so that one that needs much delays the others by one piece of work. Values below
// [Small] are not counted: they are what the rest of the process's memory is for.
//
// A [Hold] is the memory of one request or run, a [Lease] that of one step of it. Two rules keep
// holds that wait for more memory from blocking each other: no hold gets more than [Budget.Each],
// and beyond what all holds share, there is a reserve of that size, which belongs to one waiting
// hold at a time until it ends.
//
// Content of unknown size is received into a [Body], which moves to a file when it is large, so
// that a slow sender occupies no memory. Its [Cost] is known when the memory for decoding it is
// taken.
package inflight

// Small is the size in bytes up to which a value need not be counted.
const Small = 64 << 10
