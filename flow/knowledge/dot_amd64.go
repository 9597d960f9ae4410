package knowledge

import "golang.org/x/sys/cpu"

// accelerated is fixed at start. GODEBUG=cpu.avx2=off runs plain Go, for tests and measurements.
var accelerated = cpu.X86.HasAVX2

// dotFast is dotPlain with AVX2; n is a positive multiple of dotUnits. It checks no bounds.
//
//go:noescape
func dotFast(a, b *byte, n int) int32
