package engine

import (
	"fmt"
	"time"

	"sluice/flow"
	"sluice/flow/flowtest"
)

// fakeDisk stores the writes of a run as a database does: rows as JSON, with every write fenced
// by the attempt of the run. A machine crash may lose a suffix of the writes that were not
// durable.
type fakeDisk struct {
	first    flow.Run
	ahead    []flow.Step // initial steps, stored with the run
	log      []diskWrite
	synced   int // writes that survive any crash
	attempt  int64
	canceled bool

	rows map[string]diskRow   // by path, as a reader sees them
	due  map[string]time.Time // new due times of waiting steps after an event
	// decided reports whether an event that a step waits for has happened.
	decided func(path string) bool
	run     flow.Run
}

type diskWrite struct {
	run        flow.Run
	outputs    []byte
	rows       []diskRow
	deliveries []flow.NewDelivery
	wakeAt     time.Time
	draining   bool
	end        bool
}

// diskRow is a step with its values encoded.
type diskRow struct {
	step                          flow.Step
	input, outputs, saved, failed []byte
	at                            int // index of its write in the log
}

func newDisk(run flow.Run, ahead ...flow.Step) *fakeDisk {
	for i := range ahead {
		run.Seq++
		ahead[i].Seq = run.Seq
	}
	run.Progress.Done = len(ahead)
	d := &fakeDisk{first: run, ahead: ahead, due: map[string]time.Time{}}
	d.reset()
	return d
}

// reset restores the state of the disk when the run was accepted.
func (d *fakeDisk) reset() {
	d.rows, d.run = map[string]diskRow{}, d.first
	for _, s := range d.ahead {
		d.rows[s.Path] = encodeRow(s, -1)
	}
}

// claim assigns the run to a worker under a new attempt and returns what the worker reads.
func (d *fakeDisk) claim() (*flow.Run, []flow.Step) {
	d.attempt++
	run := d.run
	run.Attempt, run.CancelRequested = d.attempt, d.canceled
	if len(d.log) > 0 {
		run.Outputs = flowtest.DecodedObject(d.log[len(d.log)-1].outputs)
	}
	steps := make([]flow.Step, 0, len(d.rows))
	for _, r := range d.rows {
		s := r.decode()
		if at, due := d.due[s.Path]; due && s.State == flow.StepWaiting {
			s.WaitUntil = at
		}
		steps = append(steps, s)
	}
	return &run, steps
}

// write commits a write, or returns an error for an invalid one.
func (d *fakeDisk) write(w *flow.RunWrite) error {
	if w.Run.Attempt != d.attempt {
		return flow.ErrFenced
	}
	if d.run.State.Ended() {
		return fmt.Errorf("a write after the end")
	}
	e := diskWrite{run: *w.Run, outputs: flow.EncodeJSON(w.Run.Outputs), deliveries: w.Deliveries, wakeAt: w.WakeAt, draining: w.Draining, end: w.End}
	for i := range w.Steps {
		e.rows = append(e.rows, encodeRow(w.Steps[i], len(d.log)))
	}
	d.log = append(d.log, e)
	if w.Durable {
		d.synced = len(d.log)
	}
	d.apply(e)
	for i := range w.Steps {
		delete(d.due, w.Steps[i].Path)
	}
	if w.Run.State == flow.RunWaiting {
		d.wakeDecided(w.Run.WaitingSince)
	}
	return nil
}

// fence commits a write of Plan.Fence.
func (d *fakeDisk) fence(w *flow.RunWrite) error {
	if w.Run.Attempt != d.attempt {
		return flow.ErrFenced
	}
	e := diskWrite{run: d.run, outputs: flow.EncodeJSON(d.run.Outputs)}
	if n := len(d.log); n > 0 {
		e.outputs, e.wakeAt, e.draining = d.log[n-1].outputs, d.log[n-1].wakeAt, d.log[n-1].draining
	}
	e.run.Error = w.Run.Error
	d.log = append(d.log, e)
	d.apply(e)
	return nil
}

// wakeDecided makes waiting steps due whose event has happened.
func (d *fakeDisk) wakeDecided(now time.Time) {
	for path, r := range d.rows {
		if r.step.State == flow.StepWaiting && d.decided != nil && d.decided(path) {
			d.due[path] = now
		}
	}
}

// sync makes all writes survive any crash.
func (d *fakeDisk) sync() { d.synced = len(d.log) }

func (d *fakeDisk) apply(e diskWrite) {
	d.run = e.run
	for _, r := range e.rows {
		d.rows[r.step.Path] = r
	}
}

// lose discards writes that were not durable, except the first n.
func (d *fakeDisk) lose(n int) {
	d.log = d.log[:max(n, d.synced)]
	d.reset()
	for _, e := range d.log {
		d.apply(e)
	}
}

// ended reports whether a recorded step has ended, and whether that is synced.
func (d *fakeDisk) ended(path string) (is, synced bool) {
	r, ok := d.rows[path]
	is = ok && r.step.State.Ended()
	return is, is && r.at < d.synced
}

func (d *fakeDisk) wakeAt() time.Time {
	if len(d.log) == 0 || d.run.State != flow.RunWaiting {
		return time.Time{}
	}
	for path := range d.due {
		if d.rows[path].step.State == flow.StepWaiting {
			return time.Time{}
		}
	}
	return d.log[len(d.log)-1].wakeAt
}

// draining reports whether the run waits for its last child runs.
func (d *fakeDisk) draining() bool {
	return len(d.log) > 0 && d.log[len(d.log)-1].draining
}

func (d *fakeDisk) deliveries() map[string]string {
	m := map[string]string{}
	for _, e := range d.log {
		for _, delivery := range e.deliveries {
			m[delivery.Node] += string(delivery.Body) // twice would show
		}
	}
	return m
}

func encodeRow(s flow.Step, at int) diskRow {
	r := diskRow{step: s, input: flow.EncodeJSON(s.Input), outputs: flow.EncodeJSON(s.Outputs), saved: flow.EncodeJSON(s.Saved), failed: flow.EncodeJSON(s.Error), at: at}
	r.step.Input, r.step.Outputs, r.step.Saved, r.step.Error = nil, nil, nil, nil
	return r
}

func (r diskRow) decode() flow.Step {
	s := r.step
	s.Input = flowtest.DecodedMap(r.input)
	s.Outputs = flowtest.DecodedMap(r.outputs)
	s.Saved = flowtest.Decoded(r.saved)
	if e := flowtest.DecodedMap(r.failed); e != nil {
		s.Error = &flow.Error{Code: flow.Code(flow.Text(e["code"])), Message: flow.Text(e["message"]), Node: flow.Text(e["node"]), Retryable: e["retryable"] == true}
	}
	return s
}

func outputsOf(r diskRow) map[string]any {
	if r.outputs == nil {
		return nil
	}
	m := flowtest.DecodedMap(r.outputs)
	return m
}
