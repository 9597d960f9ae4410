package main

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// Bounds of GOGC. Runs leave nothing in memory, so the live heap is usually small, and letting
// it grow fourfold between collections costs little memory: 25 % more runs per second were
// measured than with Go's default of 100. A larger live heap gets a fixed budget of garbage,
// and a very large one, such as with a thousand concurrent streams, a quarter of its size.
const (
	maxPercent    = 400 // GOGC: garbage as a percentage of the live heap
	minPercent    = 25
	garbageBudget = 24 << 20 // bytes
	largeHeap     = 48 << 20 // bytes
)

// tuneGC adjusts GOGC after each collection, unless the operator has set it. Only the
// server calls it: other commands exit before garbage matters.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(maxPercent)
	after := &gcTuner{percent: maxPercent}
	after.arm()
}

// gcTuner runs after each garbage collection and adapts GOGC to the live heap.
type gcTuner struct{ percent int }

// sentinel is unreachable as soon as it is allocated, so the next collection runs
// its finalizer. Go has no other callback after a collection.
type sentinel struct{ _ [16]byte }

// arm makes the next collection call tune.
func (g *gcTuner) arm() {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		g.tune()
		g.arm()
	})
}

// tune sets GOGC for the current live heap. It ignores changes of less than a tenth.
func (g *gcTuner) tune() {
	samples := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	runtimemetrics.Read(samples)
	live := uint64(0) // the base of the percentage, which includes stacks and globals
	for _, s := range samples {
		live += s.Value.Uint64()
	}
	percent := garbagePercent(live)
	if percent*10 < g.percent*9 || percent*9 > g.percent*10 { // setting it stops the world for a moment
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

// garbagePercent returns the GOGC percentage for a live heap of a number of bytes.
func garbagePercent(live uint64) int {
	if live > largeHeap {
		return minPercent
	}
	return int(min(max(garbageBudget*100/max(live, 1), minPercent), maxPercent))
}
