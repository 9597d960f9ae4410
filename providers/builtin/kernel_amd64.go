package builtin

import "golang.org/x/sys/cpu"

// accelerated is fixed at start; the tests compare both ways.
var accelerated = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// multiplyTileFast multiplies 4 consecutive rows of x with 2*pairs consecutive rows of w; n is a multiple of 8. It is
// multiplyTilePlain with AVX2 and FMA.
//
//go:noescape
func multiplyTileFast(out, x *float32, w *byte, n, pairs int)

// dotFast is dotPlain with AVX2 and FMA; n is a multiple of 8.
//
//go:noescape
func dotFast(a, b *float32, n int) float32

// addScaledFast is addScaledPlain with AVX2 and FMA; n is a multiple of 8.
//
//go:noescape
func addScaledFast(y, x *float32, f float32, n int)
