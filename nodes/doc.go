// Package nodes owns the node kinds: what each one is called, which fields and
// ports it has, what it says about itself and what it does. One file is one
// kind; it registers itself, and everything else (the editor's form, checks,
// reference, command line) derives from its declaration.
//
// A kind turns what it is given into outputs or one error that a person can
// act on. It must not know runs, steps, the store, other nodes or how its
// result is recorded: the engine alone writes. It reaches the network through
// the outbound client only.
package nodes
