//go:build !linux && !darwin

package pdfium

import "context"

// withMemory leaves memory to wazero.
func withMemory(ctx context.Context) context.Context { return ctx }
