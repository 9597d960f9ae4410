// Command all runs the tests of Sluice and lists at the end which tests were skipped
// on this machine. It needs only Go and a C compiler.
//
// Tests that need something this machine lacks (PostgreSQL, Chromium, Node) are
// skipped with a reason; with SLUICE_TEST_REQUIRE=all they fail instead. Long
// tests are skipped unless SLUICE_TEST_SLOW=1. See package need.
//
// Arguments are passed on to go test. Without a package it tests all:
//
//	go run ./e2e/all -race -shuffle=on ./flow/...
//
// Two flags of its own come first. They keep a second run from repeating what a first one,
// such as a run with the race detector, has tested already:
//
//	-passed FILE  write the packages that passed, and the tests that they skipped, to FILE
//	-except FILE  of the packages that are listed in FILE, run the skipped tests only
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// gotestsum prints the output of failed tests and packages, including those
// that crash or exceed the timeout.
const gotestsum = "gotest.tools/gotestsum@v1.13.0"

// timeout bounds the tests of one package. It only ends tests that hang.
const timeout = "30m"

// perProcessor is how many packages run in parallel for each processor, and how many tests of
// each. Many tests wait for browsers, servers and timers: with one for each processor, a third of
// the time of the processors is unused.
const perProcessor = 2

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0 if all tests passed.
func run(args []string) int {
	passed, except, rest := ownFlags(args)
	runs := [][]string{rest}
	if except != "" {
		var err error
		if runs, err = remaining(except, rest); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	var events bytes.Buffer
	code := 0
	var again []string
	for _, r := range runs {
		out, c := goTest(r)
		events.Write(out)
		if failed := failedTests(bytes.NewReader(out)); c != 0 && len(failed) > 0 {
			if c = repeat(r, failed); c == 0 {
				again = append(again, failed...)
			}
		}
		code = max(code, c)
	}
	if len(again) > 0 {
		fmt.Fprintf(os.Stdout, "\nFailed beside other tests, and passed alone. Fix them:\n    %s\n", strings.Join(again, "\n    "))
	}
	printSkipped(os.Stdout, skipReasons(bytes.NewReader(events.Bytes())))
	if passed != "" {
		if err := os.WriteFile(passed, []byte(passedPackages(&events)), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return code
}

// goTest runs go test and returns its events and its exit code.
func goTest(args []string) (events []byte, code int) {
	dir, err := os.MkdirTemp("", "sluice-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil, 2
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "events.json")
	cmd := exec.Command("go", command(file, args)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "cannot run go:", err)
		return nil, 2
	}
	events, err = os.ReadFile(file)
	if err != nil { // the tests never started, and why has been printed
		return nil, max(1, cmd.ProcessState.ExitCode())
	}
	return events, cmd.ProcessState.ExitCode()
}

// maxRepeated is how many failed tests are repeated. If more fail, the cause is not the load of the machine.
const maxRepeated = 5

// failedTests returns the failed tests as "package Test", or nil if they do not explain the failure, as after a crash, or if
// there are more than maxRepeated or a data race, which a repetition may miss.
func failedTests(events io.Reader) (list []string) {
	explained, broken := map[string]bool{}, map[string]bool{}
	for e := range testEvents(events) {
		switch {
		case strings.Contains(e.Output, "WARNING: DATA RACE"), e.Action == "build-fail":
			return nil
		case e.Action == "fail" && e.Test == "":
			broken[e.Package] = true
		case e.Action == "fail":
			explained[e.Package] = true
			if !strings.Contains(e.Test, "/") {
				list = append(list, e.Package+" "+e.Test)
			}
		}
	}
	if !maps.Equal(explained, broken) || len(list) > maxRepeated {
		return nil
	}
	return list
}

// repeat runs failed tests once more, one after another, and returns the exit code. Timing that a busy machine spoils is then
// told from faults of Sluice; those that pass are listed at the end.
func repeat(args, failed []string) (code int) {
	args = slices.DeleteFunc(slices.Clone(args), isPackage)
	if i := slices.Index(args, "-run"); i >= 0 {
		args = slices.Delete(args, i, i+2)
	}
	for _, one := range failed {
		pkg, test, _ := strings.Cut(one, " ")
		_, c := goTest(slices.Concat([]string{"-p", "1", "-parallel", "1", "-run", "^" + test + "$"}, []string{pkg}, args))
		code = max(code, c)
	}
	return code
}

// isPackage reports whether an argument of go test names packages.
func isPackage(arg string) bool {
	return strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "sluice")
}

// ownFlags splits the flags of this program, which come first, from the arguments of go test.
func ownFlags(args []string) (passed, except string, rest []string) {
	for len(args) > 1 {
		switch args[0] {
		case "-passed":
			passed = args[1]
		case "-except":
			except = args[1]
		default:
			return passed, except, args
		}
		args = args[2:]
	}
	return passed, except, args
}

// remaining returns the arguments of go test for what an earlier run left out: the packages
// that are not in its file, and the tests that it skipped.
func remaining(file string, args []string) ([][]string, error) {
	lines, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return split(strings.Fields(string(all)), string(lines), args), nil
}

// split returns the arguments for the packages that are not in the lines of passedPackages,
// and, if there are any, those for the skipped tests of the others.
func split(packages []string, lines string, args []string) [][]string {
	var partly, tests []string
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		packages = slices.DeleteFunc(packages, func(p string) bool { return p == fields[0] })
		if len(fields) > 1 {
			partly, tests = append(partly, fields[0]), append(tests, fields[1:]...)
		}
	}
	runs := [][]string{slices.Concat(args, packages)}
	if len(tests) > 0 {
		runs = append(runs, slices.Concat(args, []string{"-run", "^(" + strings.Join(tests, "|") + ")$"}, partly))
	}
	return runs
}

// passedPackages returns a line for each package that passed: its name and the tests that were
// skipped, or had a skipped subtest.
func passedPackages(events io.Reader) string {
	passed, skipped := map[string]bool{}, map[string][]string{}
	for e := range testEvents(events) {
		switch {
		case e.Action == "pass" && e.Test == "":
			passed[e.Package] = true
		case e.Action == "skip" && e.Test != "":
			test, _, _ := strings.Cut(e.Test, "/")
			skipped[e.Package] = append(skipped[e.Package], test)
		}
	}
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(passed)) {
		slices.Sort(skipped[p])
		fmt.Fprintln(&b, strings.Join(append([]string{p}, slices.Compact(skipped[p])...), " "))
	}
	return b.String()
}

// command returns the arguments of go that run the tests and write their events
// to a file.
func command(events string, args []string) []string {
	parallel := strconv.Itoa(perProcessor * runtime.GOMAXPROCS(0))
	all := []string{
		"run", gotestsum, "--format", "pkgname", "--format-hide-empty-pkg", "--hide-summary", "skipped", "--jsonfile", events, "--",
		"-timeout", timeout, "-p", parallel, "-parallel", parallel,
	}
	all = append(all, args...)
	if !slices.ContainsFunc(args, isPackage) {
		all = append(all, "./...")
	}
	return all
}

// skipReasons counts the skipped tests by reason. Only tests skipped by package need print
// "omitted: ".
func skipReasons(events io.Reader) map[string]int {
	reasons := map[string]int{}
	for e := range testEvents(events) {
		if _, reason, ok := strings.Cut(e.Output, "omitted: "); ok && e.Action == "output" {
			reasons[strings.TrimSpace(reason)]++
		}
	}
	return reasons
}

// event is an event of go test -json. Events of a whole package have no Test.
type event struct{ Action, Package, Test, Output string }

// testEvents yields the events in the output of go test -json; it ignores other lines.
func testEvents(r io.Reader) iter.Seq[event] {
	return func(yield func(event) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil && !yield(e) {
				return
			}
		}
	}
}

func printSkipped(w io.Writer, reasons map[string]int) {
	if len(reasons) == 0 {
		return
	}
	fmt.Fprintln(w, "\nSkipped on this machine:")
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "  %3d × %s\n", reasons[reason], reason)
	}
}
