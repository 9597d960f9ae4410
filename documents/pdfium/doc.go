// Package pdfium reads PDF files with PDFium, the PDF engine of Chromium,
// compiled to WebAssembly.
//
// It owns the module, what the module imports from its host, and the calls into
// it. A module can reach nothing but its own memory: it has no files, no
// network, no clock but the time of day. It knows nothing of processes: callers
// decide where it runs and what time and memory it may take.
package pdfium

//go:generate go run ./generate
