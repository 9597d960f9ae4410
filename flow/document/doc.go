// Package document works on flow documents: it parses, validates, places,
// edits and compares them, and finds literal secrets in them. It does not know
// how flows are stored or run.
package document
