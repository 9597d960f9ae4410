// Package nodes owns the node kinds: their names, fields, ports and
// documentation, and the code that runs them. Each kind has a file of its name
// with a comment on its purpose, the flow.Kind value, its Check and its Run. A
// kind registers itself; there is no list to edit. The editor's form,
// validation, JSON Schema, docs/nodes.md and `sluice kinds` all derive from the
// declaration.
//
// A kind converts its inputs to outputs, or to one error that tells the user
// what to do. It must not know about runs, steps, the store, other nodes or how
// its result is stored: only the engine writes. It reaches the network only
// through package outbound.
//
// Shared by several kinds:
//
//   - nodes.go: the registry and the services that kinds need (Deps)
//   - config.go: reading and checking fields
//   - credentials.go: replacing references to credentials by secrets
//   - provider*.go: choosing a model, its credential and its price
//   - hosted_*.go: the parts of the hosted_model kind
//   - document_*.go: opening and downloading content
//   - child.go: running other flows
//   - subpackages: expression (CEL), reference (the documentation of kinds),
//     errtext (values in error messages)
package nodes

//go:generate go test -run ^TestMarkdown$ ./reference -update
