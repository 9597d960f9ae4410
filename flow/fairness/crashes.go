package fairness

import (
	"maps"
	"slices"

	"sluice/flow"
)

// A run is suspected of crashing the process after this many consecutive
// crashes with nothing recorded in between: crashes while it was busy, or any
// crashes, in case a mark was missed.
const (
	suspectAfterBusy = 2
	suspectAfterAny  = 10
)

// Crash describes the death of a worker for one of its runs.
type Crash struct {
	Started bool // the worker had started on the run
	Busy    bool // the run was executing a step in the process
	BusyN   int  // total number of runs executing a step in that process
}

// Guilt returns how much guilt a crash during its own trial adds to a run. A
// run that was the only busy one caused the crash. If others were busy too, it
// takes three such crashes. A run that was not busy only waited, however often the
// process crashed, and did not cause it.
func (c Crash) Guilt() int64 {
	switch {
	case c.Busy && c.BusyN == 1:
		return flow.GuiltyAt
	case c.Busy:
		return 1
	}
	return 0
}

// MakesSuspect reports whether a run is held back after this crash, given how
// often the process crashed in a row while the run was busy, and in total. A
// crash before the worker started on the run does not count.
func (c Crash) MakesSuspect(busyCrashes, crashes int64) bool {
	return c.Started && (busyCrashes >= suspectAfterBusy || crashes >= suspectAfterAny)
}

// TrialGroups divides the suspects into groups to be tried one after the other.
// Suspects whose trial ended in a crash come first, in groups of half the size:
// a binary search for the run that causes the crashes.
func TrialGroups(suspects []flow.Suspect) (groups [][]flow.Suspect) {
	bySize := map[int][]flow.Suspect{}
	for _, s := range suspects {
		bySize[s.TrialSize] = append(bySize[s.TrialSize], s)
	}
	for _, size := range slices.Sorted(maps.Keys(bySize)) {
		if size > 0 {
			groups = slices.AppendSeq(groups, slices.Chunk(bySize[size], (size+1)/2))
		}
	}
	if fresh := bySize[0]; len(fresh) > 0 {
		groups = append(groups, fresh)
	}
	return groups
}
