//go:build race

package sandbox

// MemoryFactor allows for the shadow memory of the race detector.
const MemoryFactor = 4
