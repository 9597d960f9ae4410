package main

import (
	"fmt"
	"os"
	"slices"
	"time"
)

// templates is the number of template nodes that fit into a flow beside input, output
// and first_of: a flow has at most 1,000 nodes.
const templates = 997

// nodesRow measures the cost of each additional node in a run.
func (b *benchmark) nodesRow(s *server) error {
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
	return nil
}

// alone returns the median time of a flow for a single caller.
func (b *benchmark) alone(s *server, key string, document []byte) (time.Duration, error) {
	id, err := s.publish(document)
	if err != nil {
		return 0, err
	}
	want := func(name string) string { return `"outputs":{"text":"` + name + `"}` }

	l, err := drive([]string{s.addr}, 1, b.seconds/2, 0, waiting(id, key, want))
	if err != nil {
		return 0, err
	}
	b.errors += l.errors
	return l.percentile(.5), nil
}

// startRow measures restarts, the memory of the idle server and the binary's size.
func (b *benchmark) startRow(s *server) error {
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
	slices.Sort(starts)
	time.Sleep(settleTime)
	info, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	b.add("ready after start (median of 5 later starts)", ms(starts[2]), "≤ 300 ms", "")
	b.add("memory when idle", fmt.Sprintf("%.0f MiB", s.rss()), "≤ 60 MiB", "")
	b.add("binary, stripped", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "≤ 60 MB", "")
	return nil
}
