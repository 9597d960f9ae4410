// Package documents turns files into text, tables and page images.
//
// It owns the formats and the child process that parses them: documents come
// from strangers, and a parser can be led into endless loops, endless memory and
// stack overflows, which Go does not survive. A child that fails does so alone,
// and a compromised one can reach nothing but its document. The package knows no
// flows, nodes or runs.
//
// # One document, one process
//
// A document passes through four stages:
//
//  1. Spool. The content is copied to an unlinked temporary file, so that a slow
//     sender occupies no slot and memory stays flat (spool.go).
//  2. Queue. At most maxChildren documents are parsed at a time; groups, such as
//     workspaces, share the slots fairly (queue.go).
//  3. Parse. Sluice starts its own binary again. The child limits its memory and
//     CPU time, gives up files, network and privileges, and only then reads the
//     first byte of the document (child.go, confine).
//  4. Answer. The child writes frames to its standard output. The parent checks
//     every one against bounds, because a parser that was taken over may write
//     anything (answer.go).
//
// Several limits overlap on purpose. Formats bound what they unpack and visit,
// which gives precise messages; the Go runtime bounds the heap and the stack; the
// kernel bounds the whole process. A document that slips through one of them is
// stopped by the next, with a more general message.
//
// # Errors
//
// An *Error is about the document and is shown to the person who gave it. All
// other errors are about this machine (no disk space, no engine) or the context
// that ended.
package documents
