// Package engine runs flows. Compile turns a document into a Graph, a Plan
// decides what happens next in one run without side effects, and the Engine
// executes the decisions. The package also holds the pure rules by which runs
// and deliveries share what is limited. It does not know where runs are stored.
package engine
