// Package documents turns files into text, tables and page images.
//
// It owns the formats and the child process that parses them: documents are untrusted,
// and can make a parser loop forever, exhaust memory or overflow the stack, which Go
// does not survive. A failing child affects only its own document, and a compromised one
// has access to nothing else. The package knows nothing about flows, nodes or runs.
//
// # One document, one process
//
// A document passes through four stages:
//
//  1. Spool. The content is copied to an unlinked temporary file, so that a slow
//     sender occupies no slot and memory stays flat (spool.go).
//  2. Queue. At most maxChildren documents are parsed at a time; groups, such as
//     workspaces, share the slots fairly (sandbox.Queue).
//  3. Parse. Sluice starts its own binary again. The child limits its memory and
//     CPU time, gives up files, network and privileges, and only then reads the
//     first byte of the document (child.go, package sandbox).
//  4. Answer. The child writes frames to its standard output. The parent checks
//     every frame against bounds, because a compromised parser may write
//     anything (answer.go).
//
// Several limits overlap on purpose. Formats bound what they unpack and visit,
// which gives precise messages; the Go runtime bounds the heap and the stack; the
// kernel bounds the whole process. A document that passes one of them is
// stopped by the next, with a less specific message.
//
// # Errors
//
// An *Error is about the document and can be shown to users. All other errors are about
// this machine (no disk space, no engine) or a context that ended.
package documents
