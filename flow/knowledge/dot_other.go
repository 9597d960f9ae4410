//go:build !amd64

package knowledge

// accelerated is false: other processors use plain Go, and the compiler drops the call of dotFast.
const accelerated = false

func dotFast(a, b *byte, n int) int32 { panic("not on this platform") }
