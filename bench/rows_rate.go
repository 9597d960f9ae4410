package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

const warmUp = 2 * time.Second

// waiting starts runs of a flow and holds on until they have ended; each has a
// name of its own and must give the text that belongs to it.
func waiting(flowID, key string, want func(name string) string) call {
	return posting(head("POST", "/v1/flow/"+flowID+"/run", key, "Prefer: wait=30"), func(name string) []string {
		return []string{`"status":"succeeded"`, want(name)}
	})
}

// posting sends a head with a name of its own each time and wants certain texts
// in the answer.
func posting(head []byte, want func(name string) []string) call {
	return func(w *wire, caller, n int) error {
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

func greeted(name string) string { return `"outputs":{"text":"Hello ` + name + `!"}` }

// prepare publishes a flow and makes a key.
func (s *server) prepare(document []byte) (id, key string, err error) {
	if id, err = s.publish(document); err == nil {
		key, err = s.key()
	}
	return id, key, err
}

func (b *bench) waitRow() error {
	return b.rate(workload{
		title: "input → template → output", document: greeting(), want: greeted, callers: []int{1, 8, 64, 512},
	})
}

// serviceTime is how long the called service takes.
const serviceTime = 20 * time.Millisecond

func (b *bench) httpRow() error {
	service, err := newService(serviceTime, false)
	if err != nil {
		return err
	}
	defer service.Close()
	return b.rate(workload{
		title: "input → HTTP request of " + ms(serviceTime) + " → output", document: calling(service.url()), service: service.url(),
		want:    func(name string) string { return `"outputs":{"text":{"name":"` + name + `"}}` },
		env:     []string{"SLUICE_ALLOW_PRIVATE=127.0.0.0/8"},
		callers: []int{64},
	})
}

// rate measures a workload with each number of callers on each platform.
func (b *bench) rate(w workload) error {
	if err := b.atBest(); err != nil {
		return err
	}
	if len(b.callers) > 0 {
		w.callers = b.callers
	}
	for _, callers := range w.callers {
		for _, group := range b.groups() {
			samples, err := b.contest(group, w, callers)
			if err != nil {
				return err
			}
			for i, c := range group {
				b.addRate(w, callers, c.name, samples[i])
			}
			b.addRatios(w, callers, group, samples)
		}
	}
	return nil
}

// addRate notes the medians of all rounds.
func (b *bench) addRate(w workload, callers int, name string, samples []*sample) {
	of := func(f func(*sample) float64) float64 { return median(samples, f) }
	duration := func(f func(*sample) time.Duration) string {
		return ms(time.Duration(of(func(m *sample) float64 { return float64(f(m)) })))
	}
	errors := 0
	for _, m := range samples {
		errors += m.errors
	}
	b.addRow(&b.rates, w.title, fmt.Sprint(callers), name, count(of(rateOf)),
		duration(func(m *sample) time.Duration { return m.at(.5) }), duration(func(m *sample) time.Duration { return m.at(.99) }),
		duration(func(m *sample) time.Duration { return m.own }), duration(func(m *sample) time.Duration { return m.database }),
		duration(func(m *sample) time.Duration { return m.callers }),
		fmt.Sprintf("%.0f MiB", of(func(m *sample) float64 { return m.memory })),
		fmt.Sprintf("%.0f %%", 100*of(func(m *sample) float64 { return m.others })), fmt.Sprint(errors))
}

func rateOf(m *sample) float64 { return m.rate() }

// addRatios compares each member that this build runs in with those of others
// that keep their runs in the same database or nowhere.
func (b *bench) addRatios(w workload, callers int, group []contender, samples [][]*sample) {
	mine := 1 // of the members are this build
	if b.peers {
		mine = len(b.on)
	}
	for i := range mine {
		for j := mine; j < len(group); j++ {
			if group[j].base != "" && group[j].base != group[i].base {
				continue
			}
			b.addRow(&b.ratios, w.title, fmt.Sprint(callers), group[i].name+" / "+group[j].name, ratio(samples[i], samples[j], rateOf),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.at(.5)) }),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.at(.99)) }),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.own) }),
				ratio(samples[i], samples[j], func(m *sample) float64 { return float64(m.database) }))
		}
	}
}

func (b *bench) addRow(table *[][]string, cells ...string) {
	*table = append(*table, cells)
	fmt.Fprintf(os.Stderr, "  %s\n", strings.Join(cells, " | "))
}

// atBest notes, once, what the machine gives at best: synced commits of one
// row, alone and grouped.
func (b *bench) atBest() error {
	if b.best != "" {
		return nil
	}
	one, err := b.rawCommits(1, time.Second)
	if err != nil {
		return err
	}
	many, err := b.rawCommits(parallel, time.Second)
	if err != nil {
		return err
	}
	b.best = fmt.Sprintf("Synced commits of one row: SQLite p50 %s alone, %s/s for %d callers in groups", ms(one.at(.5)), count(many.rate()), parallel)
	for _, on := range b.on {
		if !on.postgres {
			continue
		}
		if one, err = b.postgresCommits(1, time.Second); err != nil {
			return err
		}
		if many, err = b.postgresCommits(parallel, time.Second); err != nil {
			return err
		}
		b.best += fmt.Sprintf("; PostgreSQL (fsync and synchronous_commit on) p50 %s alone, %s/s on %d connections", ms(one.at(.5)), count(many.rate()), parallel)
		break
	}
	b.best += "."
	fmt.Fprintf(os.Stderr, "  %s\n", b.best)
	return nil
}
