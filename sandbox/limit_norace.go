//go:build !race

package sandbox

// MemoryFactor is the address space that a process uses for each byte that it requests.
const MemoryFactor = 1

var raceOptions []string

// mayFilter reports whether children can work with few system calls.
const mayFilter = true
