package main

import (
	"os"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
)

// How much garbage may lie around. A run leaves nothing behind in memory, so
// what is alive is little, and garbage of four times that is little too.
// Measured: a quarter more runs a second than at Go's default of 100. Where
// more is alive, garbage stays at its budget, and where much is, as with a
// thousand streams at once, at a quarter of what is alive.
const (
	mostGarbage   = 400 // percent of what is alive
	leastGarbage  = 25
	garbageBudget = 24 << 20 // bytes
	muchAlive     = 48 << 20 // bytes
)

// tuneGC keeps the garbage within these, unless GOGC says what the operator
// wants. It looks after each collection.
func tuneGC() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(mostGarbage)
	after := &gcTuner{percent: mostGarbage}
	after.arm()
}

type gcTuner struct{ percent int }

// sentinel is garbage from the start: its finalizer tells of each collection.
type sentinel struct{ _ [16]byte }

func (g *gcTuner) arm() {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		g.tune()
		g.arm()
	})
}

func (g *gcTuner) tune() {
	samples := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	runtimemetrics.Read(samples)
	live := uint64(0) // as the percentage counts it, with stacks and globals
	for _, s := range samples {
		live += s.Value.Uint64()
	}
	percent := garbagePercent(live)
	if percent*10 < g.percent*9 || percent*9 > g.percent*10 { // setting it stops the world for a moment
		g.percent = percent
		debug.SetGCPercent(percent)
	}
}

func garbagePercent(live uint64) int {
	if live > muchAlive {
		return leastGarbage
	}
	return int(min(max(garbageBudget*100/max(live, 1), leastGarbage), mostGarbage))
}
