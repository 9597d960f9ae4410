// Package contract holds the interface of a flow: its inputs and outputs, as the input and
// output nodes of the document declare them. It validates the inputs of a run, describes
// them as JSON Schema, and derives the events that clients see.
//
// It must not depend on how a run is started, stored or shown.
package contract
