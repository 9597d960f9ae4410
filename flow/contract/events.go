package contract

import (
	"sluice/flow"
	"sluice/flow/sorting"
)

// Event is a numbered change of a run's state. Exactly one of Run, Step and Output is set.
type Event struct {
	Seq    int64
	Run    *flow.Run
	Step   *flow.Step
	Output *OutputEvent
}

// OutputEvent is sent when an output of the run has its value.
type OutputEvent struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// EventsAfter derives the events of a run with a sequence number above after, from the
// run's current state. An event has the number of the write that caused it, so live and
// replayed streams agree. Intermediate states that were overwritten have no event.
func EventsAfter(run *flow.Run, steps []flow.Step, outputs []Output, after int64) []Event {
	name := map[string]string{}
	for _, o := range outputs {
		name[o.Node] = o.Name
	}
	var list []Event
	if run.RunSeq > after {
		list = append(list, Event{Seq: run.RunSeq, Run: run})
	}
	for i := range steps {
		s := &steps[i]
		if s.Seq > after {
			list = append(list, Event{Seq: s.Seq, Step: s})
		}
		if s.OutputSeq > after {
			list = append(list, Event{Seq: s.OutputSeq, Output: &OutputEvent{Name: name[s.Node], Value: s.Outputs["value"]}})
		}
	}
	sorting.By(list, func(a, b Event) int { return int(a.Seq - b.Seq) })
	return list
}
