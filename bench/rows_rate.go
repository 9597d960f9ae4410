package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// warmUp is how long a program is driven before it is measured, so that caches are
// filled and connections open.
const warmUp = 2 * time.Second

// waiting returns a call that starts a run of a flow and waits for its end. Each run
// has a name of its own, and its outputs must contain the text for that name.
func waiting(flowID, key string, want func(name string) string) call {
	return postNames(head("POST", "/v1/flow/"+flowID+"/run", key, "Prefer: wait=30"), func(name string) []string {
		return []string{`"status":"succeeded"`, want(name)}
	})
}

// postNames returns a call that posts a name, different each time, and requires
// certain texts in the response.
func postNames(head []byte, want func(name string) []string) call {
	return func(w *httpConn, caller, n int) error {
		name := fmt.Sprintf("c%d-%d", caller, n)
		status, body, err := w.post(head, []byte(`{"name":"`+name+`"}`))
		if err != nil || status != 200 {
			return unexpected(status, body, err)
		}
		for _, text := range want(name) {
			if !bytes.Contains(body, []byte(text)) {
				return fmt.Errorf("wanted %s: %s", text, body)
			}
		}
		return nil
	}
}

// greeted returns the expected part of the response of a greeting flow. It is compared as
// text, which costs the callers less than decoding JSON.
func greeted(name string) string { return `"outputs":{"text":"Hello ` + name + `!"}` }

// prepare publishes a flow and creates a key.
func (s *server) prepare(document []byte) (id, key string) {
	return must(s.publish(document)), must(s.key())
}

// waitRow measures short runs that callers wait for.
func (b *benchmark) waitRow() {
	b.rate(workload{
		title: "input → template → output", document: greeting(), want: greeted, callers: []int{1, 8, 64, 512},
	})
}

// serviceTime is how long the called service takes to respond.
const serviceTime = 20 * time.Millisecond

// httpRow measures runs that spend most of their time waiting for another service.
func (b *benchmark) httpRow() {
	service := must(newEchoService(serviceTime))
	defer service.Close()
	b.rate(workload{
		title: "input → HTTP request of " + ms(serviceTime) + " → output", document: calling(service.url()), service: service.url(),
		want:    func(name string) string { return `"outputs":{"text":{"name":"` + name + `"}}` },
		env:     []string{allowLoopback},
		callers: []int{64},
	})
}

// largeRow measures a flow of 1,000 nodes.
func (b *benchmark) largeRow() {
	b.rate(workload{
		title: "1,000 nodes, one after the other", document: chain(998), callers: []int{16},
		want: func(name string) string { return `"outputs":{"text":"` + name + `"}` },
	})
}

// rate measures a workload with each number of callers on each platform. One caller shows
// the latency of a run, many show the throughput, and more than there are workers shows
// what queueing costs.
func (b *benchmark) rate(w workload) {
	b.measureMachine()
	if len(b.callers) > 0 {
		w.callers = b.callers
	}
	for _, callers := range w.callers {
		for _, group := range b.groups(w) {
			samples := must(b.compare(group, w, callers))
			for i, c := range group {
				b.addRate(w, callers, c.name, samples[i])
			}
			b.addRatios(w, callers, group, samples)
		}
	}
}

// addRate adds a row with the medians of all rounds. Medians ignore a round that was
// disturbed by another program; the last columns show how much others took.
func (b *benchmark) addRate(w workload, callers int, name string, samples []*sample) {
	of := func(f func(*sample) float64) float64 { return median(samples, f) }
	duration := func(f func(*sample) time.Duration) string {
		return ms(time.Duration(of(func(m *sample) float64 { return float64(f(m)) })))
	}
	errors := 0
	for _, m := range samples {
		errors += m.errors
	}
	b.addRow(&b.rates, w.title, fmt.Sprint(callers), name, count(of(rateOf)),
		duration(func(m *sample) time.Duration { return m.percentile(.5) }), duration(func(m *sample) time.Duration { return m.percentile(.99) }),
		duration(func(m *sample) time.Duration { return m.own }), duration(func(m *sample) time.Duration { return m.database }),
		duration(func(m *sample) time.Duration { return m.callers }),
		fmt.Sprintf("%.0f MiB", of(func(m *sample) float64 { return m.memory })),
		fmt.Sprintf("%.0f %%", 100*of(func(m *sample) float64 { return m.others })), fmt.Sprint(errors))
}

// rateOf is a column of the tables.
func rateOf(m *sample) float64 { return m.rate() }

// addRatios compares each member of this build with other members that store their
// runs in the same database or nowhere.
func (b *benchmark) addRatios(w workload, callers int, group []candidate, samples [][]*sample) {
	mine := 1 // the first so many members are this build
	if b.peers {
		mine = len(b.on)
	}
	for i := range mine {
		for j := mine; j < len(group); j++ {
			if group[j].base != "" && group[j].base != group[i].base {
				continue
			}
			b.addRow(&b.ratios, w.title, fmt.Sprint(callers), group[i].name+" / "+group[j].name, ratio(samples[i], samples[j], rateOf),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.percentile(.5)) }),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.percentile(.99)) }),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.own) }),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.database) }))
		}
	}
}

// addRow adds a row to a table and prints it as progress.
func (b *benchmark) addRow(table *[][]string, cells ...string) {
	*table = append(*table, cells)
	fmt.Fprintf(os.Stderr, "  %s\n", strings.Join(cells, " | "))
}

// measureMachine measures, once, what the machine can do at best: synced commits of
// one row, by one caller and by many.
func (b *benchmark) measureMachine() {
	if b.best != "" {
		return
	}
	one, many := b.sqliteCommits(1, time.Second), b.sqliteCommits(parallel, time.Second)
	b.best = fmt.Sprintf("Synced commits of one row: SQLite p50 %s alone, %s/s for %d callers in groups", ms(one.percentile(.5)), count(many.rate()), parallel)
	if slices.ContainsFunc(b.on, func(p platform) bool { return p.postgres }) {
		one, many = b.postgresCommits(1, time.Second), b.postgresCommits(parallel, time.Second)
		b.best += fmt.Sprintf("; PostgreSQL (fsync and synchronous_commit on) p50 %s alone, %s/s on %d connections", ms(one.percentile(.5)), count(many.rate()), parallel)
	}
	b.best += "."
	fmt.Fprintf(os.Stderr, "  %s\n", b.best)
}
