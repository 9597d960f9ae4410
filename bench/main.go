// Command bench measures the real binary over HTTP and prints a Markdown table.
//
//	go run ./bench                      all rows
//	go run ./bench -rows wait,http      some
//	go run ./bench -rows wait -on sqlite -callers 64 -cpuprofile wait.pprof
//	go run ./bench -rows wait -against HEAD~1
//	go run ./bench -rows wait -peers
//
// It builds Sluice, starts it with its default settings on SQLite and on a
// private PostgreSQL server with durable settings, creates flows and keys through
// the command line, and is the caller itself, in a process of its own on the
// same cores. Every response is checked. The table also shows what the machine can
// do at best at that moment, such as synced commits of one row. Because the speed of
// a machine changes, builds and programs are compared by alternating them; what
// counts is the ratio in each round.
//
// This package owns what is measured and how. It uses the API and the command line,
// and must not know the packages behind them.
//
// # Method
//
// Callers are closed-loop: each sends its next request after the previous response. A
// stall therefore delays only as many requests as there are callers, and percentiles
// understate what independent users would see; the rows burst and queue, which do not
// wait for runs, show that side.
//
// Server and callers share the cores, so rates are lower bounds. Callers use a minimal
// HTTP client to take little of the time, and the table has the processor time per run of
// server, database and callers, which does not depend on who else uses the cores.
//
// Durability is never traded for speed: SQLite and PostgreSQL sync every commit that a
// response depends on, as in production. A response only counts if its content is right,
// and a single incorrect one makes the whole program fail.
//
// To judge a change, use -against with the commit before it: both builds run at the same
// time and are measured alternately, so what disturbs one disturbs the other too. A ratio
// whose lowest and highest round lie on both sides of 1 shows no difference.
//
// # Layout
//
// A row of the table is a function in rows_*.go. The parts that rows share are
//
//	server.go   a Sluice process            subject.go  any program that is compared
//	load.go     concurrent callers          sample.go   one measurement of a subject
//	conn.go     HTTP at the least cost      cpu.go      processor time from /proc
//	service.go  services that flows call    limits.go   what the machine can do at best
//	peers.go    other programs              profile.go  CPU profiles of the server
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/db/dbtest/pgserver"
)

// row is one or more lines of the table. Rows are independent: each starts servers of its
// own, so that -rows can select any of them.
type row struct {
	name    string
	measure func(*benchmark)
}

// rows in the order of the table.
var rows = []row{
	{"wait", (*benchmark).waitRow}, {"http", (*benchmark).httpRow}, {"burst", onServer((*benchmark).burstRow)},
	{"nodes", onServer((*benchmark).nodesRow)}, {"queue", (*benchmark).queueRow}, {"start", onServer((*benchmark).startRow)},
	{"stream", onServer((*benchmark).streamRow, "SLUICE_WORKERS=1024")}, // a streaming run occupies a worker
	{"chat", onServer((*benchmark).chatRow, allowLoopback)},
	{"agents", (*benchmark).agentsRow}, {"turns", (*benchmark).turnsRow}, {"agentstreams", onServer((*benchmark).agentStreamRow, "SLUICE_WORKERS=1024", allowLoopback)},
	{"idle", (*benchmark).idleRow}, {"files", onServer((*benchmark).filesRow, allowLoopback)}, {"storage", (*benchmark).storageRow}, {"webhooks", (*benchmark).webhooksRow},
	{"list", onEach((*benchmark).lists)}, {"many", onEach((*benchmark).many)}, {"manage", onServer((*benchmark).manageRow)}, {"map", (*benchmark).mapRow}, {"batch", (*benchmark).batchRow}, {"tests", (*benchmark).testsRow}, {"hooks", onTriggers((*benchmark).hooksOn)}, {"schedules", onTriggers((*benchmark).schedulesOn)},
	{"memory", (*benchmark).memoryRow}, {"neighbors", onEach((*benchmark).neighbors)},
	{"retention", onEach((*benchmark).retention)}, {"replica", (*benchmark).replicaRow}, {"tracing", onEach((*benchmark).tracing)}, {"large", (*benchmark).largeRow}, {"knowledge", (*benchmark).knowledgeRow},
}

// allowLoopback lets flows call services of this process.
const allowLoopback = "SLUICE_ALLOW_PRIVATE=127.0.0.0/8"

// onServer returns a row that is measured on a new server. The row fails if the
// server does not shut down cleanly afterwards.
func onServer(measure func(*benchmark, *server), env ...string) func(*benchmark) {
	return func(b *benchmark) {
		s := must(b.newServer(env...))
		defer s.kill()
		measure(b, s)
		check(s.stop())
	}
}

// onEach returns a row that is measured on each platform with a single instance.
func onEach(measure func(*benchmark, platform)) func(*benchmark) {
	return func(b *benchmark) {
		for _, on := range b.on {
			if on.instances == 1 {
				measure(b, on)
			}
		}
	}
}

// failure is the panic with which check ends a row.
type failure struct{ error }

// check ends the current row if err is not nil, as testing.B.Fatal ends a benchmark.
// A row is a sequence of steps that cannot continue after an error. Callers run in
// goroutines, where a panic would end the process, so they return errors instead.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns a result without an error, or ends the current row.
func must[T any](v T, err error) T {
	check(err)
	return v
}

// run measures a row and returns the error that ended it.
func (r row) run(b *benchmark) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = fmt.Errorf("row %s: %w", r.name, p.error)
		default:
			panic(p)
		}
	}()
	r.measure(b)
	return nil
}

// parallel is the number of callers in rows that do not vary it.
const parallel = 64

// settleTime is the wait before the memory of an idle server is read: the garbage of
// its start has been returned to the system by then.
const settleTime = 3 * time.Second

// benchmark is one execution of the program: its options and its results.
type benchmark struct {
	binary      string
	against     string // a binary of another build; "" for none
	againstName string
	peers       bool
	peersBuilt  string // directory with the binaries of peers, with a slash
	on          []platform
	callers     []int         // replaces the numbers of callers of each row
	rounds      int           // how often compared programs alternate
	seconds     time.Duration // how long each rate is measured, all rounds together
	pause       time.Duration // how long the row idle is measured
	burst       int           // starts of the row burst
	queued      int           // runs of the row queue
	streams     int           // concurrent responses of the row stream
	runs        int           // runs that the row list fills the database with
	waiting     int           // agents of the row agents that wait for people
	expired     int           // runs that expire in each cycle of the row retention
	items       int           // of the lists of the row map
	keep        string        // directory with the bases of the row knowledge; "" for none
	profile     string        // file for the server's CPU profile; "" for none
	dir         string        // temporary directory of all rows
	postgres    *pgserver.Server
	databases   int        // created on postgres so far
	best        string     // what the machine can do at best
	lines       []line     // table of single figures
	rates       [][]string // table of rates
	ratios      [][]string // table of comparisons
	errors      int        // incorrect responses of all rows
}

// line is one line of the table.
type line struct{ what, measured, target, limit string }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run reads the flags, builds what is needed and measures the selected rows in order. The
// temporary directory and the PostgreSQL server are removed at the end.
func run() (err error) {
	b := &benchmark{}
	chosen := flag.String("rows", "", "rows to measure, separated by commas: "+names())
	flag.StringVar(&b.binary, "binary", "", "measure this binary instead of building one")
	against := flag.String("against", "", "compare with another `build` in the rows wait, http and turns: a binary, or a commit that is built first")
	flag.BoolVar(&b.peers, "peers", false, "measure Node-RED, DBOS and Restate beside Sluice in the rows wait, http and turns")
	on := flag.String("on", "", "where to measure the rows wait, http, turns, idle, map, agents and knowledge, separated by commas; default all of sqlite, postgres, postgres3 (3 instances on one database)")
	callers := flag.String("callers", "", "concurrent callers in the rows wait, http and turns, separated by commas; default 1,8,64,512 and 64")
	flag.IntVar(&b.rounds, "rounds", 5, "how often builds are alternated")
	flag.DurationVar(&b.seconds, "time", 10*time.Second, "how long each rate is measured, all rounds together")
	flag.DurationVar(&b.pause, "idle", time.Minute, "how long the row idle is measured on each platform")
	flag.IntVar(&b.burst, "burst", 20_000, "starts of the row burst")
	flag.IntVar(&b.queued, "queued", 100_000, "runs of the row queue")
	flag.IntVar(&b.streams, "streams", 1_000, "concurrent responses of the rows stream and agentstreams")
	flag.IntVar(&b.runs, "runs", 1_000_000, "runs of the row list")
	flag.IntVar(&b.waiting, "waiting", 10_000, "agents of the row agents that wait for people")
	flag.IntVar(&b.expired, "expired", 100_000, "runs that expire in each of the cycles of the row retention")
	flag.IntVar(&b.items, "items", 10_000, "items of the lists of the row map")
	flag.StringVar(&b.keep, "keep", "", "keep the bases of the row knowledge in this `directory`, so that they are added only once")
	flag.StringVar(&b.profile, "cpuprofile", "", "write a CPU profile of the (first) server while the row wait, http, stream, map, tests, hooks or memory is measured; choose one row, -on and -callers")
	flag.Parse()
	if b.dir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	defer func() {
		if b.postgres != nil {
			b.postgres.Remove()
		}
	}()
	if err := b.choose(*on, *callers); err != nil {
		return err
	}
	if b.binary == "" {
		if b.binary, err = build(b.dir, b.profile != ""); err != nil {
			return err
		}
	}
	if *against != "" {
		if err := b.againstBuild(*against); err != nil {
			return err
		}
	}
	if b.peers {
		if err := b.buildPeers(); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if *chosen != "" && !slices.Contains(strings.Split(*chosen, ","), r.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s …\n", r.name)
		if err := r.run(b); err != nil {
			return err
		}
	}
	return b.print()
}

// choose reads the platforms and the numbers of callers.
func (b *benchmark) choose(on, callers string) error {
	for _, p := range platforms {
		switch {
		case on != "" && !slices.Contains(strings.Split(on, ","), p.name):
		case p.postgres && !pgserver.Installed():
			fmt.Fprintf(os.Stderr, "PostgreSQL server binaries not found: %s is omitted\n", p.name)
		default:
			b.on = append(b.on, p)
		}
	}
	if len(b.on) == 0 {
		return fmt.Errorf("-on %s selects no platform", on)
	}
	for word := range strings.FieldsFuncSeq(callers, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return fmt.Errorf("-callers: %q is not a number of callers", word)
		}
		b.callers = append(b.callers, n)
	}
	return nil
}

// names returns the names of the rows for the help.
func names() string {
	var list []string
	for _, r := range rows {
		list = append(list, r.name)
	}
	return strings.Join(list, ", ")
}

// add adds a line to the table of single figures and prints it as progress. The target is
// the figure that docs/benchmarks.md promises.
func (b *benchmark) add(what, measured, target, limit string) {
	b.lines = append(b.lines, line{what, measured, target, limit})
	fmt.Fprintf(os.Stderr, "  %s: %s\n", what, measured)
}

// print writes the tables. It returns an error if any response was incorrect.
func (b *benchmark) print() error {
	fmt.Printf("%s\n", machine(b.dir))
	if b.best != "" {
		fmt.Println(b.best)
	}
	table("flow | callers | program | runs/s | p50 | p99 | CPU per run | PostgreSQL's | callers' | memory | others took | errors", b.rates)
	table("flow | callers | ratio: median (lowest–highest round) | runs/s | p50 | p99 | CPU per run | PostgreSQL's", b.ratios)
	var lines [][]string
	for _, l := range b.lines {
		lines = append(lines, []string{l.what, l.measured, l.target, l.limit})
	}
	table("row | measured | target | the machine in the same minute", lines)
	if b.errors > 0 {
		return fmt.Errorf("%d responses were incorrect, so the figures mean nothing", b.errors)
	}
	return nil
}

// table writes a Markdown table, unless it is empty.
func table(head string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Printf("\n| %s |\n%s|\n", head, strings.Repeat("|---", strings.Count(head, " | ")+1))
	for _, cells := range rows {
		fmt.Printf("| %s |\n", strings.Join(cells, " | "))
	}
}
