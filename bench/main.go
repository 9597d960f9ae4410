// Command bench measures the real binary over HTTP and prints a Markdown table.
//
//	go run ./bench                      all rows
//	go run ./bench -rows wait,single    some
//	go run ./bench -rows wait -cpuprofile wait.pprof
//
// It builds Sluice, starts it with its default settings on SQLite, makes flows
// and keys through the command line, and is the caller itself, in a process of
// its own on the same cores. Every answer is checked. Beside each figure stands
// what the machine gives at best at that moment: synced commits of one row,
// requests that do nothing, or the time that the called service takes.
//
// It owns what is measured and how; it knows the API and the command line, and
// nothing of the packages behind them.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// row is one thing that is measured.
type row struct {
	name    string
	measure func(*bench) error
}

// rows in the order of the table.
var rows = []row{
	{"wait", (*bench).waitRow}, {"single", (*bench).singleRow}, {"burst", (*bench).burstRow}, {"http", (*bench).httpRow},
	{"nodes", (*bench).nodesRow}, {"queue", (*bench).queueRow}, {"start", (*bench).startRow}, {"stream", (*bench).streamRow},
	{"files", (*bench).filesRow}, {"webhooks", (*bench).webhooksRow},
}

// bench is one go at measuring.
type bench struct {
	binary  string
	seconds time.Duration
	callers int
	burst   int
	queued  int
	streams int
	profile string // where the server's CPU profile goes; "" for none
	dir     string // in which every row gets a directory of its own
	lines   []line
	errors  int
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
	flag.DurationVar(&b.seconds, "time", 10*time.Second, "how long each rate is measured")
	flag.IntVar(&b.callers, "callers", 64, "callers at once")
	flag.IntVar(&b.burst, "burst", 20_000, "starts of the row burst")
	flag.IntVar(&b.queued, "queued", 100_000, "runs of the row queue")
	flag.IntVar(&b.streams, "streams", 1_000, "answers at once of the row stream")
	flag.StringVar(&b.profile, "cpuprofile", "", "write a CPU profile of the server while the row wait, single, http or stream is measured; choose one row")
	flag.Parse()
	if b.dir, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	if b.binary == "" {
		if b.binary, err = build(b.dir, b.profile != ""); err != nil {
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

// print writes the table; a wrong answer anywhere is an error.
func (b *bench) print() error {
	fmt.Printf("%s\n\n", machine(b.dir))
	fmt.Println("| what | measured | target | the machine in the same minute |")
	fmt.Println("|---|---|---|---|")
	for _, l := range b.lines {
		fmt.Printf("| %s | %s | %s | %s |\n", l.what, l.measured, l.target, l.limit)
	}
	if b.errors > 0 {
		return fmt.Errorf("%d answers were wrong, so the figures mean nothing", b.errors)
	}
	return nil
}
