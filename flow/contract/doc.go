// Package contract holds what a flow promises its callers: the inputs that a run takes
// and the outputs that it gives, as the input and output nodes of the document declare
// them. It checks the values of a start, describes them as JSON Schema, and derives the
// events that clients see.
//
// It must not know how a run is started, stored or shown; those packages ask it.
package contract
