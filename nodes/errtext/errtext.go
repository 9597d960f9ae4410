// Package errtext formats values for error messages that people read. It owns
// how much of a value a message quotes and what types are called, and knows no
// kind of node.
package errtext

import (
	"sluice/flow"
)

// Type returns the type of a value for use in a sentence, such as "a list".
func Type(v any) string {
	switch name := flow.TypeOf(v); name {
	case "object":
		return "an object"
	case "text", "null":
		return name
	default:
		return "a " + name
	}
}
