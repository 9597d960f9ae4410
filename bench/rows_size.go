package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// most templates that fit beside input, output and first_of in a flow of 1,000.
const templates = 997

// nodesRow measures the cost of each additional node in a run.
func (b *bench) nodesRow() error {
	s, err := b.newServer()
	if err != nil {
		return err
	}
	defer s.kill()
	key, err := s.key()
	if err != nil {
		return err
	}
	one, err := b.alone(s, key, chain(1))
	if err != nil {
		return err
	}
	for _, shape := range []struct {
		name     string
		document []byte
	}{{"chain", chain(templates)}, {"fan", fan(templates)}} {
		many, err := b.alone(s, key, shape.document)
		if err != nil {
			return err
		}
		b.add(fmt.Sprintf("%d templates as a %s, one caller", templates, shape.name),
			fmt.Sprintf("%.3f ms per node more; p50 %s", float64(many-one)/float64(templates-1)/float64(time.Millisecond), ms(many)),
			"≤ 0.1 ms per node", "one template: p50 "+ms(one))
	}
	return s.stop()
}

// alone returns the median time of a flow for a single caller.
func (b *bench) alone(s *server, key string, document []byte) (time.Duration, error) {
	id, err := s.publish(document)
	if err != nil {
		return 0, err
	}
	want := func(name string) string { return `"outputs":{"text":"` + name + `"}` }
	if id == "" {
		return 0, fmt.Errorf("no flow ID was printed")
	}
	l, err := drive(s.addr, 1, b.seconds/2, 0, waiting(id, key, want))
	if err != nil {
		return 0, err
	}
	b.errors += l.errors
	return l.at(.5), nil
}

// startRow measures restarts, and the memory of the idle program.
func (b *bench) startRow() error {
	s, err := b.newServer()
	if err != nil {
		return err
	}
	var starts []time.Duration
	for range 5 {
		if err := s.stop(); err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
		starts = append(starts, s.ready)
	}
	defer s.kill()
	slices.Sort(starts)
	time.Sleep(3 * time.Second) // until what a start needs has been given back
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	b.add("ready after start (median of 5 later starts)", ms(starts[2]), "≤ 300 ms", "")
	b.add("memory when idle", fmt.Sprintf("%.0f MiB", s.rss()), "≤ 60 MiB", "")
	b.add("binary, stripped", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "≤ 60 MB", "")
	return s.stop()
}
