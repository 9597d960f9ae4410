// Package pdfium reads PDF files with PDFium, the PDF engine of Chromium,
// compiled to WebAssembly.
//
// It owns the module, its imports, and the calls into it. A module can access only its own
// memory: it has no files, no network, and no clock except the time of day. The package does
// not manage processes: callers decide where it runs and limit its time and memory.
//
// # Calling C from Go through WebAssembly
//
// PDFium is C++ and would need cgo, a compiler for each platform, and trust in
// its memory safety. Compiled to WebAssembly (WASM), it is one file for every
// platform, and a buffer overflow in it corrupts its own memory only.
//
// The module has a linear memory: a byte array in which a C pointer is an index.
// Go passes numbers as uint64, and everything else through that memory: allocate
// reserves a block with the module's malloc, put copies bytes in, and free releases it.
// Pointers and handles of PDFium are such numbers; 0 is the null pointer. The slice that
// Memory.Read returns is a view, valid until the next call that may grow the memory, so it
// is copied or decoded at once.
//
// Names such as FPDF_LoadPage are functions of PDFium's public headers
// (fpdfview.h, fpdf_text.h, fpdf_annot.h and others), which document them. Those
// that begin with PDFiumExt_ or EPDF are additions of the embedpdf build.
package pdfium

//go:generate go run ./generate
