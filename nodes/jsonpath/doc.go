// Package jsonpath parses and evaluates JSONPath as RFC 9535 defines it, over the values of package
// value: members are visited in their order, and numbers are compared digit by digit.
//
// Paths come from the authors of flows and values from anyone, so an evaluation must be stoppable.
// A path of a few characters can ask for more work than any computer can do: each ..* multiplies
// the results, and a filter may search the whole value again for each item. Nothing about that can
// be foreseen cheaply, so everything an evaluation does is counted while it happens, and a Host
// ends it. Results are passed on one by one instead of being collected between segments, so
// memory is not an issue.
//
// The file path.go holds the parsed form of a path; parse.go, filter.go and literal.go read it,
// following the grammar of the RFC from the outside in. evaluate.go walks values, compare.go
// compares them, and pattern.go translates regular expressions.
package jsonpath
