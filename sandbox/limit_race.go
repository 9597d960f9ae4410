//go:build race

package sandbox

// MemoryFactor makes room for the race detector, which keeps notes on all memory.
const MemoryFactor = 4
