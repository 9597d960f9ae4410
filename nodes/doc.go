// Package nodes owns the node kinds: their names, fields, ports and
// documentation, and the code that runs them. Each kind has a file of its name
// with a comment that says what it is for, the flow.Kind value, its Check, and
// its Run. A kind registers itself; no list is edited. The editor's form,
// validation, JSON Schema, docs/nodes.md and `sluice kinds` all derive from the
// declaration.
//
// A kind converts its inputs to outputs or to one error that tells a person
// what to do. It must not know runs, steps, the store, other nodes or how its
// result is recorded: only the engine writes. It reaches the network only
// through package outbound.
//
// Shared by several kinds:
//
//   - nodes.go: the registry and the services that kinds need (Deps)
//   - config.go: reading and checking fields
//   - credentials.go: replacing references to credentials by secrets
//   - provider*.go: choosing a model, its credential and its price
//   - hosted_*.go: the parts of the hosted_model kind
//   - document_*.go: reading files in a confined child process
//   - packages beneath: expression (CEL), reference (the documentation of
//     kinds), errtext (values in messages), confine (the sandbox)
package nodes

//go:generate go test -run ^TestMarkdown$ ./reference -update
