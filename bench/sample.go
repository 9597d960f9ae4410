package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"
)

// sample is the result of one round with a subject. Besides the times that callers see, it
// has the processor time per run: on a machine whose cores are shared with the callers,
// that is the figure which predicts throughput elsewhere.
type sample struct {
	*load
	own, database, callers time.Duration // processor time per run
	others                 float64       // share of the cores that other programs took
	memory                 float64       // maximum of the largest process, in MiB
}

// measure lets callers drive a subject for a while. Memory is sampled, because its maximum
// is what a machine must have.
func (b *benchmark) measure(s *subject, callers int, d time.Duration) (_ *sample, err error) {
	m := &sample{}
	stop := sampleEvery(50*time.Millisecond, func() { m.memory = max(m.memory, s.resident()) })
	before := s.cpuTime()
	profile := s.profile
	if profile == nil {
		profile = func(f func()) { f() }
	}
	profile(func() { m.load, err = drive(s.addrs, callers, d, 0, s.do) })
	after := s.cpuTime()
	stop()
	if err != nil {
		return nil, err
	}
	b.errors += m.errors
	runs := time.Duration(max(1, len(m.times)))
	own, database, self := after.server-before.server, after.database-before.database, after.self-before.self
	m.own, m.database, m.callers = own/runs, database/runs, self/runs
	all := float64(after.at.Sub(before.at)) * float64(runtime.NumCPU())
	m.others = max(0, float64(after.machine-before.machine-own-database-self)) / all
	return m, nil
}

// cpuTime returns the processor time that a subject, its database and the callers
// have used so far.
func (s *subject) cpuTime() cpuTime {
	now := cpuTime{at: time.Now(), machine: machineTime(), self: processTime(os.Getpid())}
	for _, pid := range s.pids {
		now.server += processTime(pid)
	}
	if s.postmaster != 0 {
		now.database = familyTime(s.postmaster)
	}
	return now
}

// compare starts the members of a group and measures them alternately, round
// after round, because the speed of a machine changes while it is measured. It
// returns the samples of each member.
func (b *benchmark) compare(group []candidate, w workload, callers int) (_ [][]*sample, err error) {
	subjects := make([]*subject, len(group))
	defer func() {
		for _, s := range subjects {
			if s != nil { // not stopped, because of an error
				s.kill()
			}
		}
	}()
	for i, c := range group {
		if subjects[i], err = c.start(w); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		if _, err = requireCorrect(drive(subjects[i].addrs, callers, warmUp, 0, subjects[i].do)); err != nil {
			return nil, fmt.Errorf("%s: warm up: %w", c.name, err)
		}
	}
	rounds := 1
	if len(group) > 1 {
		rounds = b.rounds
	}
	samples := make([][]*sample, len(group))
	order := make([]int, len(group))
	for i := range order {
		order[i] = i
	}
	for range rounds {
		for _, i := range order {
			s := subjects[i]
			m, err := b.measure(s, callers, b.seconds/time.Duration(rounds))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			samples[i] = append(samples[i], m)
		}
		slices.Reverse(order) // so that no member always comes first
	}
	for i, s := range subjects {
		subjects[i] = nil
		if err := s.stop(); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return samples, nil
}

// median returns the median of f over all samples, the upper one of an even number.
func median(samples []*sample, f func(*sample) float64) float64 {
	values := make([]float64, len(samples))
	for i, m := range samples {
		values[i] = f(m)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// ratio returns the median of the ratios of each round, with the lowest and highest. The
// ratio within a round is stable even if the machine's speed changes between rounds, by up
// to a factor of two on shared hosts.
func ratio(mine, other []*sample, f func(*sample) float64) string {
	var values []float64
	for i := range mine {
		if by := f(other[i]); by > 0 {
			values = append(values, f(mine[i])/by)
		}
	}
	if len(values) == 0 {
		return "–"
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2f (%.2f–%.2f)", values[len(values)/2], values[0], values[len(values)-1])
}
