// Command bench measures the real binary over HTTP and prints a Markdown table.
//
//	go run ./bench                      all rows
//	go run ./bench -rows wait,http      some
//	go run ./bench -rows wait -on sqlite -callers 64 -cpuprofile wait.pprof
//	go run ./bench -rows wait -against HEAD~1
//	go run ./bench -rows wait -peers
//
// It builds Sluice, starts it with its default settings on SQLite and on a
// private PostgreSQL server with durable settings, makes flows and keys through
// the command line, and is the caller itself, in a process of its own on the
// same cores. Every answer is checked. Beside the figures stands what the
// machine gives at best at that moment, such as synced commits of one row.
// Because the speed of a machine changes, builds and programs are compared by
// alternating them; the ratio of each round counts.
//
// It owns what is measured and how; it knows the API and the command line, and
// nothing of the packages behind them.
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

// row is one thing that is measured.
type row struct {
	name    string
	measure func(*bench) error
}

// rows in the order of the table.
var rows = []row{
	{"wait", (*bench).waitRow}, {"http", (*bench).httpRow}, {"burst", (*bench).burstRow},
	{"nodes", (*bench).nodesRow}, {"queue", (*bench).queueRow}, {"start", (*bench).startRow}, {"stream", (*bench).streamRow},
	{"idle", (*bench).idleRow}, {"files", (*bench).filesRow}, {"webhooks", (*bench).webhooksRow},
	{"list", (*bench).listRow},
}

// parallel is the number of callers where only one number is measured.
const parallel = 64

// bench is one go at measuring.
type bench struct {
	binary      string
	against     string // a binary of another build; "" for none
	againstName string
	peers       bool
	dbos        string // the binary of peers/dbos
	on          []platform
	callers     []int // instead of each row's own
	rounds      int
	seconds     time.Duration
	pause       time.Duration // how long the row idle is measured
	burst       int
	queued      int
	streams     int
	runs        int    // that the row list fills the server with
	profile     string // where the server's CPU profile goes; "" for none
	dir         string // in which every row gets a directory of its own
	postgres    *pgserver.Server
	databases   int // made on it so far
	best        string
	lines       []line
	rates       [][]string
	ratios      [][]string
	errors      int
}

// line is one line of the table.
type line struct{ what, measured, target, limit string }

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	b := &bench{}
	chosen := flag.String("rows", "", "rows to measure, separated by commas: "+names())
	flag.StringVar(&b.binary, "binary", "", "measure this binary instead of building one")
	against := flag.String("against", "", "compare with another `build` in the rows wait and http: a binary, or a commit that is built first")
	flag.BoolVar(&b.peers, "peers", false, "measure Node-RED and DBOS beside Sluice in the rows wait and http")
	on := flag.String("on", "", "where to measure the rows wait, http and idle, separated by commas; default all of sqlite, postgres, postgres3 (3 instances on one database)")
	callers := flag.String("callers", "", "callers at once in the rows wait and http, separated by commas; default 1,8,64,512 and 64")
	flag.IntVar(&b.rounds, "rounds", 5, "how often builds are alternated")
	flag.DurationVar(&b.seconds, "time", 10*time.Second, "how long each rate is measured, all rounds together")
	flag.DurationVar(&b.pause, "idle", time.Minute, "how long the row idle is measured on each platform")
	flag.IntVar(&b.burst, "burst", 20_000, "starts of the row burst")
	flag.IntVar(&b.queued, "queued", 100_000, "runs of the row queue")
	flag.IntVar(&b.streams, "streams", 1_000, "answers at once of the row stream")
	flag.IntVar(&b.runs, "runs", 1_000_000, "runs of the row list")
	flag.StringVar(&b.profile, "cpuprofile", "", "write a CPU profile of the (first) server while the row wait, http or stream is measured; choose one row, -on and -callers")
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
		if err := r.measure(b); err != nil {
			return fmt.Errorf("row %s: %w", r.name, err)
		}
	}
	return b.print()
}

// choose reads the platforms and the numbers of callers.
func (b *bench) choose(on, callers string) error {
	for _, p := range platforms {
		switch {
		case on != "" && !slices.Contains(strings.Split(on, ","), p.name):
		case p.postgres && !pgserver.Installed():
			fmt.Fprintf(os.Stderr, "PostgreSQL server binaries not found: %s is left out\n", p.name)
		default:
			b.on = append(b.on, p)
		}
	}
	if len(b.on) == 0 {
		return fmt.Errorf("-on %s leaves nothing to measure on", on)
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

func names() string {
	var list []string
	for _, r := range rows {
		list = append(list, r.name)
	}
	return strings.Join(list, ", ")
}

func (b *bench) add(what, measured, target, limit string) {
	b.lines = append(b.lines, line{what, measured, target, limit})
	fmt.Fprintf(os.Stderr, "  %s: %s\n", what, measured)
}

// print writes the tables; a wrong answer anywhere is an error.
func (b *bench) print() error {
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
	table("what | measured | target | the machine in the same minute", lines)
	if b.errors > 0 {
		return fmt.Errorf("%d answers were wrong, so the figures mean nothing", b.errors)
	}
	return nil
}

// table writes one in Markdown, unless it is empty.
func table(head string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Printf("\n| %s |\n%s|\n", head, strings.Repeat("|---", strings.Count(head, " | ")+1))
	for _, cells := range rows {
		fmt.Printf("| %s |\n", strings.Join(cells, " | "))
	}
}
