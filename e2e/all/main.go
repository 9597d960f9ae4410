// Command all runs every test of Sluice and says at the end what was left out.
//
// Tests that need something this machine lacks (PostgreSQL, Chromium, Node) are
// skipped with a reason; with SLUICE_TEST_REQUIRE=all they fail instead.
// Arguments are passed on to go test:
//
//	go run ./e2e/all -race -shuffle=on
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// report adds up what the tests did.
type report struct {
	out                     io.Writer
	output                  map[string][]string // what each test of a package printed
	omitted                 map[string]int      // reason to how often
	passed, failed, skipped int
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	cmd := exec.Command("go", append(append([]string{"test", "-json"}, args...), "./...")...)
	cmd.Stderr = os.Stderr
	lines, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "go test cannot be started:", err)
		return 2
	}
	r := &report{out: os.Stdout, output: map[string][]string{}, omitted: map[string]int{}}
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 64<<20)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) == nil {
			r.take(e)
		}
	}
	err = cmd.Wait()
	r.close()
	if err != nil || scanner.Err() != nil || r.failed > 0 {
		return 1
	}
	return 0
}

func (r *report) take(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		r.output[key] = append(r.output[key], e.Output)
	case "skip":
		if e.Test != "" {
			r.skipped++
			r.omit(key)
		}
		delete(r.output, key)
	case "pass":
		if e.Test == "" {
			fmt.Fprintf(r.out, "ok   %s\t%.1fs\n", e.Package, e.Elapsed)
		} else {
			r.passed++
		}
		delete(r.output, key)
	case "fail":
		if e.Test != "" {
			r.failed++
		} else {
			fmt.Fprintf(r.out, "FAIL %s\t%.1fs\n", e.Package, e.Elapsed)
		}
		fmt.Fprint(r.out, strings.Join(r.output[key], ""))
	case "build-fail":
		r.failed++
		for k, lines := range r.output {
			fmt.Fprint(r.out, strings.Join(lines, ""))
			delete(r.output, k)
		}
	}
}

// omit notes why a test was left out, from the line it skipped with.
func (r *report) omit(key string) {
	for _, line := range r.output[key] {
		if _, reason, ok := strings.Cut(line, "omitted: "); ok {
			r.omitted[strings.TrimSpace(reason)]++
		}
	}
}

func (r *report) close() {
	if len(r.omitted) > 0 {
		fmt.Fprintln(r.out, "\nLeft out, because this machine lacks what they need:")
		for _, reason := range slices.Sorted(maps.Keys(r.omitted)) {
			fmt.Fprintf(r.out, "  %3d × %s\n", r.omitted[reason], reason)
		}
	}
	fmt.Fprintf(r.out, "\n%d passed, %d failed, %d skipped\n", r.passed, r.failed, r.skipped)
}
