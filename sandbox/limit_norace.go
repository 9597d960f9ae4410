//go:build !race

package sandbox

// MemoryFactor is what a process takes for each byte that it asks for.
const MemoryFactor = 1
