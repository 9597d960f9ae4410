//go:build !race

package documents

// memoryFactor is what a process takes for each byte that it asks for.
const memoryFactor = 1
