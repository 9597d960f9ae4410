// Package value owns the values that flows pass on: JSON values whose objects keep the order of
// their members and whose numbers keep every digit. It decodes, encodes, compares and walks them.
// It knows nothing of flows, so that clients of providers and views can use it.
//
// A value is nil, a bool, a string, a json.Number, a []any or an *Object. Go code may also build
// objects as map[string]any where the order has no meaning; such a map counts as an object whose
// members are sorted by name. Functions of this package accept both.
//
// The order matters because people and models read it: a model that is asked for {reasoning,
// answer} must not be asked for {answer, reasoning}. Hashes must not depend on it, so they use
// Canonical.
package value
