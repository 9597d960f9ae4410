package main

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"sluice/db/dbtest/pgserver"
)

// listReaders is the number of people who read lists of runs one after the other in the row replica.
const listReaders = 8

// replicaRow measures what readers of lists cost the callers who start runs, on one PostgreSQL, and with a streaming replica that answers the lists. Both
// servers of PostgreSQL share the cores, so what counts is the processor time of the primary.
func (b *benchmark) replicaRow() {
	if !pgserver.Installed() {
		return
	}
	url := b.database()
	s := &filled{server: must(b.newServer("DATABASE_URL=" + url)), db: must(sql.Open("pgx", url)), postgres: true}
	defer s.kill()
	defer s.db.Close()
	s.fill(b.runs / 5)
	id := must(s.publish(greeting()))
	replica := must(pgserver.New())
	defer replica.Remove()
	data := filepath.Join(replica.Dir(), "data")
	check(replica.Clone(data, b.postgres))
	check(replica.Serve(data))
	var name string
	check(s.db.QueryRow("SELECT current_database()").Scan(&name))
	check(pgserver.Await(replica.URL(name)))
	other := must(b.newServer("DATABASE_URL="+url, "SLUICE_READ_DATABASE_URL="+replica.URL(name), "SLUICE_MASTER_KEY_FILE="+filepath.Join(s.dir, "master.key")))
	defer other.kill()
	do := waiting(id, s.key, greeted)
	var alone, beside, replicated []*sample
	for range b.rounds {
		for _, m := range []struct {
			s       *server
			readers int
			into    *[]*sample
		}{{s.server, 0, &alone}, {s.server, listReaders, &beside}, {other, listReaders, &replicated}} {
			*m.into = append(*m.into, b.besideReaders(s, m.s, m.readers, do))
		}
	}
	p50 := func(m *sample) float64 { return float64(m.percentile(.5)) }
	database := func(m *sample) float64 { return float64(m.database) }
	b.add(fmt.Sprintf("runs of 8 callers beside %d readers of lists of %s runs, PostgreSQL, in those without readers", listReaders, count(float64(b.runs/5))),
		fmt.Sprintf("from the primary: p50 %s, processor time of PostgreSQL per run %s; from a replica: p50 %s, of the primary %s", ratio(beside, alone, p50), ratio(beside, alone, database), ratio(replicated, alone, p50), ratio(replicated, alone, database)),
		"the replica takes the lists", "")
	check(other.stop())
	check(s.stop())
}

// besideReaders measures runs beside readers of the pages of all runs.
func (b *benchmark) besideReaders(s *filled, at *server, readers int, do call) *sample {
	m, stop := &sample{}, make(chan struct{})
	ended := make(chan *load, 1)
	if readers > 0 {
		conns, closeAll, err := dialAll([]string{at.addr}, readers)
		check(err)
		defer closeAll()
		request := []byte("GET /runs?state=failed HTTP/1.1\r\nHost: " + at.addr + "\r\nCookie: " + s.cookie + "\r\n")
		go func() {
			ended <- repeat(readers, time.Minute, 0, func(i, _ int) (time.Duration, error) {
				select {
				case <-stop:
					return 0, fmt.Errorf("stopped")
				default:
				}
				return timed(func() error {
					status, body, err := conns[i].get(request)
					if err != nil || status != http.StatusOK {
						return unexpected(status, body, err)
					}
					return nil
				})
			})
		}()
	}
	before := familyTime(b.postgres.PID())
	m.load = must(requireCorrect(drive([]string{at.addr}, 8, b.seconds/time.Duration(b.rounds), 0, do)))
	m.database = (familyTime(b.postgres.PID()) - before) / time.Duration(max(1, len(m.times)))
	close(stop)
	if readers > 0 {
		<-ended
	}
	return m
}
