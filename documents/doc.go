// Package documents turns files into text, tables and page images.
//
// It owns the formats and the child process that parses them: documents come
// from strangers, and a parser can be led into endless loops, endless memory and
// stack overflows, which Go does not survive. A child that fails does so alone,
// and a compromised one can reach nothing but its document. The package knows no
// flows, nodes or runs.
package documents
