// Package pinned derives from the schema of a hosted model, which a node stores, what the node needs: its
// fields and ports, the check of its config, and the values that are sent. Parsed schemas are cached.
//
// It sends no requests and knows no predictions; the kind hosted_model in package nodes does. The kinds that run
// other flows share the names of inputs.
package pinned
