//go:build race

package documents

// memoryFactor makes room for the race detector, which keeps notes on all memory.
const memoryFactor = 4
