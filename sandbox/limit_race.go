//go:build race

package sandbox

// MemoryFactor allows for the shadow memory of the race detector.
const MemoryFactor = 4

// raceOptions lets a child exit at once. The race detector would wait a second for other
// threads to report races.
var raceOptions = []string{"GORACE=atexit_sleep_ms=0"}

// mayFilter is false because the race detector makes other system calls.
const mayFilter = false
