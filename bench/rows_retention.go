package main

import (
	"fmt"
	"os"
	"time"
)

const (
	retentionRate   = 1_000 // starts per second beside clean-up
	retentionErased = 5_000 // runs per second that clean-up has to erase
)

// retentionCycles is how often runs expire.
const retentionCycles = 3

// retention measures clean-up: how fast expired runs of three steps are erased while callers start
// runs at a fixed rate, and what these callers notice. Runs expire in several cycles. The size of the database
// after each of them must not grow, because erased rows leave room for new ones.
func (b *benchmark) retention(on platform) {
	s := b.newFilled(on)
	defer s.kill()
	defer s.db.Close()
	s.end = time.Now().Truncate(time.Second)
	id, key := s.prepare(greeting())
	check(s.db.QueryRow("SELECT workspace_id FROM flows").Scan(&s.ws))
	alone := must(b.paced(s.server, id, key, nil))
	var rates []float64
	var beside *load
	sizes := ""
	for cycle := range retentionCycles {
		s.fillExpired(b.expired, cycle)
		start := time.Now()
		done := make(chan struct{})
		go func() {
			for s.expiredLeft() {
				time.Sleep(20 * time.Millisecond)
			}
			rates = append(rates, float64(b.expired)/time.Since(start).Seconds())
			close(done)
		}()
		beside = must(b.paced(s.server, id, key, done))
		<-done
		sizes += fmt.Sprintf(" %.0f", s.megabytes())
		fmt.Fprintf(os.Stderr, "    cycle %d: %s erased/s, starts p50 %s, p99 %s\n", cycle+1, count(rates[cycle]), ms(beside.percentile(.5)), ms(beside.percentile(.99)))
	}
	b.add(fmt.Sprintf("%s expired runs of 3 steps, erased beside %s starts/s, %s", count(float64(b.expired)), count(retentionRate), on.title()),
		fmt.Sprintf("%s erased/s; starts p50 %s, p99 %s, without clean-up %s, %s; size after each cycle%s MB", count(rates[len(rates)-1]),
			ms(beside.percentile(.5)), ms(beside.percentile(.99)), ms(alone.percentile(.5)), ms(alone.percentile(.99)), sizes),
		fmt.Sprintf("≥ %s erased/s, p99 ≤ 1.5 ×", count(retentionErased)), "")
	check(s.stop())
}

// paced starts runs at retentionRate until done is closed, or for the time of one measurement if it
// is nil. Callers that fall behind go on at once, so that a stall shows.
func (b *benchmark) paced(s *server, flowID, key string, done <-chan struct{}) (*load, error) {
	conns, closeAll, err := dialAll([]string{s.addr}, parallel)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	head := head("POST", "/v1/flow/"+flowID+"/run", key)
	const every = time.Second * parallel / retentionRate
	limit := b.seconds
	if done != nil {
		limit = time.Hour
	}
	start := time.Now()
	stopped := fmt.Errorf("stopped")
	l := repeat(parallel, limit, 0, func(caller, n int) (time.Duration, error) {
		planned := start.Add(every*time.Duration(n) + every*time.Duration(caller)/parallel)
		time.Sleep(time.Until(planned))
		select {
		case <-done:
			return 0, stopped
		default:
		}
		return timed(func() error {
			status, body, err := conns[caller].post(head, []byte(`{"name":"a"}`))
			if err != nil || status != 202 {
				return unexpected(status, body, err)
			}
			return nil
		})
	})
	return l, nil
}

// fillExpired inserts runs of three steps each that have just expired.
func (s *filled) fillExpired(runs, cycle int) {
	text := s.statement(listFill)
	from := cycle * runs
	for at := from; at < from+runs; at += fillChunk {
		must(s.db.Exec(text, at, min(at+fillChunk, from+runs), runs*(retentionCycles+1), s.end.UnixMicro(), s.ws))
	}
	steps := s.statement(`INSERT INTO steps (run_id, path, workspace_id, node, kind, state, attempt, failures, node_hash, input_hash, input_tokens, output_tokens, cost_nano_usd, seq, output_seq,
started_at, ended_at, wait_until, error, saved, input, outputs, attempts)
SELECT r.id, p.path, r.workspace_id, p.path, 'template', 'succeeded', 1, 0, '', '', 0, 0, 0, 1, 1, r.started_at, r.ended_at, 0, '', '', r.inputs, r.outputs, ''
FROM runs r, (SELECT 'first' AS path UNION ALL SELECT 'second' UNION ALL SELECT 'third') p WHERE r.document_hash = $1 AND r.erased = ''`)
	must(s.db.Exec(steps, filledHash))
	if s.postgres {
		must(s.db.Exec("ANALYZE"))
	}
	must(s.db.Exec(s.statement("UPDATE runs SET place = 0, state = 'succeeded', ended_at = created_at, expires_at = $1 WHERE document_hash = $2 AND erased = ''"), s.end.UnixMicro(), filledHash))
}

// filledHash is the document of the runs that list_fill.sql inserts.
const filledHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// expiredLeft reports whether expired runs are left.
func (s *filled) expiredLeft() (left bool) {
	err := s.db.QueryRow(s.statement("SELECT EXISTS (SELECT 1 FROM runs WHERE expires_at > 0 AND erased = '' AND expires_at <= $1)"), s.end.UnixMicro()).Scan(&left)
	return err != nil || left
}

// megabytes returns the size of the tables.
func (s *filled) megabytes() float64 {
	query := "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	if s.postgres {
		query = "SELECT pg_database_size(current_database())"
	}
	var bytes float64
	check(s.db.QueryRow(query).Scan(&bytes))
	return bytes / 1e6
}
