// Package children stores the child runs that steps start.
//
// Each item of a step gets a run of its own, at most as many at once as the step allows.
// The items that have no run yet are rows of child_items, which work like a queue: the
// transaction that ends a child takes the next item and starts its run, so that a crash
// loses no item and starts none twice. The table children has one row for each step, with
// the numbers of items in each state and the cost of all of them.
//
// The calling step waits without a worker. Like the answer to an approval, the end of the
// last child makes the step due and hands its run to a worker in the same transaction. A
// caller that a worker still holds finds the end when it is about to wait.
package children
