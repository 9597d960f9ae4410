// Package hooks holds what an incoming webhook does with a request: its configuration, the decoding of the body, the filter,
// the values of the flow's inputs, and the key by which a repeated event is recognized.
//
// It must not depend on how requests are received, on how triggers are stored, or on the language of expressions, which
// callers pass in.
package hooks
