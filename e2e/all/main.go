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
//	-complete FILE  write the packages whose tests all ran, without a skipped one, to FILE
//	-except FILE    test all packages but those that are listed in FILE
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

// testsPerProcessor is how many tests of a package run in parallel, for each processor. Many
// tests wait for browsers, servers and timers: with one for each processor, a third of the
// time of the processors is unused.
const testsPerProcessor = 2

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0 if all tests passed.
func run(args []string) int {
	complete, except, rest := ownFlags(args)
	if except != "" {
		packages, err := othersThan(except)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		rest = append(rest, packages...)
	}
	dir, err := os.MkdirTemp("", "sluice-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	events := filepath.Join(dir, "events.json")
	cmd := exec.Command("go", command(events, rest)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "cannot run go:", err)
		return 2
	}
	data, err := os.ReadFile(events)
	if err != nil { // the tests never started, and why has been printed
		return max(1, cmd.ProcessState.ExitCode())
	}
	printSkipped(os.Stdout, skipReasons(bytes.NewReader(data)))
	if complete != "" {
		list := strings.Join(completePackages(bytes.NewReader(data)), "\n")
		if err := os.WriteFile(complete, []byte(list), 0o600); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	return cmd.ProcessState.ExitCode()
}

// ownFlags splits the flags of this program, which come first, from the arguments of go test.
func ownFlags(args []string) (complete, except string, rest []string) {
	for len(args) > 1 {
		switch args[0] {
		case "-complete":
			complete = args[1]
		case "-except":
			except = args[1]
		default:
			return complete, except, args
		}
		args = args[2:]
	}
	return complete, except, args
}

// othersThan lists the packages of the module that are not listed in a file.
func othersThan(file string) ([]string, error) {
	listed, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := exec.Command("go", "list", "./...").Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	except := strings.Fields(string(listed))
	return slices.DeleteFunc(strings.Fields(string(all)), func(p string) bool { return slices.Contains(except, p) }), nil
}

// completePackages returns the packages that passed without a skipped test, sorted.
func completePackages(events io.Reader) []string {
	complete, skipped := map[string]bool{}, map[string]bool{}
	for e := range testEvents(events) {
		switch {
		case e.Action == "pass" && e.Test == "":
			complete[e.Package] = true
		case e.Action == "skip":
			skipped[e.Package] = true
		}
	}
	maps.DeleteFunc(complete, func(p string, _ bool) bool { return skipped[p] })
	return slices.Sorted(maps.Keys(complete))
}

// command returns the arguments of go that run the tests and write their events
// to a file.
func command(events string, args []string) []string {
	all := []string{
		"run", gotestsum, "--format", "pkgname", "--format-hide-empty-pkg", "--hide-summary", "skipped", "--jsonfile", events, "--",
		"-timeout", timeout, "-parallel", strconv.Itoa(testsPerProcessor * runtime.GOMAXPROCS(0)),
	}
	all = append(all, args...)
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, ".") || strings.HasPrefix(arg, "sluice") }) {
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
