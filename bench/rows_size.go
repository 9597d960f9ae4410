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

// nodesRow measures the cost of each additional node in a run, as the difference between
// the largest flow and one with a single node. A chain has as many steps one after the
// other; a fan makes them ready at once and joins them.
func (b *benchmark) nodesRow(s *server) {
	key := must(s.key())
	one := b.alone(s, key, chain(1))
	for _, shape := range []struct {
		name     string
		document []byte
	}{{"chain", chain(templates)}, {"fan", fan(templates)}} {
		many := b.alone(s, key, shape.document)
		b.add(fmt.Sprintf("%d templates as a %s, one caller", templates, shape.name),
			fmt.Sprintf("%.3f ms per node more; p50 %s", float64(many-one)/float64(templates-1)/float64(time.Millisecond), ms(many)),
			"≤ 0.1 ms per node", "one template: p50 "+ms(one))
	}
}

// alone returns the median time of a flow for a single caller.
func (b *benchmark) alone(s *server, key string, document []byte) time.Duration {
	id := must(s.publish(document))
	want := func(name string) string { return `"outputs":{"text":"` + name + `"}` }
	l := must(drive([]string{s.addr}, 1, b.seconds/2, 0, waiting(id, key, want)))
	b.errors += l.errors
	return l.percentile(.5)
}

// startRow measures restarts, the memory of the idle server and the binary's size. The
// first start is left out: it creates the database.
func (b *benchmark) startRow(s *server) {
	var starts []time.Duration
	for range 5 {
		check(s.stop())
		check(s.start())
		starts = append(starts, s.ready)
	}
	slices.Sort(starts)
	time.Sleep(settleTime)
	info := must(os.Stat(b.binary))
	b.add("ready after start (median of 5 later starts)", ms(starts[2]), "≤ 300 ms", "")
	b.add("memory when idle", fmt.Sprintf("%.0f MiB", s.rss()), "≤ 60 MiB", "")
	b.add("binary, stripped", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "≤ 72 MB", "")
}
