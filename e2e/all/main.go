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
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// gotestsum prints the output of failed tests and packages, including those
// that crash or exceed the timeout.
const gotestsum = "gotest.tools/gotestsum@v1.13.0"

// timeout bounds the tests of one package. It only ends tests that hang.
const timeout = "30m"

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0 if all tests passed.
func run(args []string) int {
	dir, err := os.MkdirTemp("", "sluice-tests-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(dir)
	events := filepath.Join(dir, "events.json")
	cmd := exec.Command("go", command(events, args)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		fmt.Fprintln(os.Stderr, "cannot run go:", err)
		return 2
	}
	file, err := os.Open(events)
	if err != nil { // the tests never started, and why has been printed
		return max(1, cmd.ProcessState.ExitCode())
	}
	defer file.Close()
	printLeftOut(os.Stdout, leftOut(file))
	return cmd.ProcessState.ExitCode()
}

// command returns the arguments of go that run the tests and write their events
// to a file.
func command(events string, args []string) []string {
	all := []string{"run", gotestsum, "--format", "pkgname", "--format-hide-empty-pkg", "--hide-summary", "skipped", "--jsonfile", events, "--", "-timeout", timeout}
	all = append(all, args...)
	if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, ".") }) {
		all = append(all, "./...")
	}
	return all
}

// leftOut counts the skipped tests by reason. It reads the events of go test
// -json; only tests skipped by package need print "omitted: ".
func leftOut(events io.Reader) map[string]int {
	reasons := map[string]int{}
	lines := bufio.NewScanner(events)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e struct{ Action, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Action != "output" {
			continue
		}
		if _, reason, ok := strings.Cut(e.Output, "omitted: "); ok {
			reasons[strings.TrimSpace(reason)]++
		}
	}
	return reasons
}

func printLeftOut(w io.Writer, reasons map[string]int) {
	if len(reasons) == 0 {
		return
	}
	fmt.Fprintln(w, "\nLeft out on this machine:")
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(w, "  %3d × %s\n", reasons[reason], reason)
	}
}
