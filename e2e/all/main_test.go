package main

import (
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPrintSkipped(t *testing.T) {
	t.Parallel()
	const events = `{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"    need.go:22: omitted: no Chromium is installed\n"}
{"Action":"skip","Test":"TestA"}
{"Action":"output","Test":"TestB","Output":"    need.go:22: omitted: no Chromium is installed\n"}
{"Action":"output","Test":"TestC","Output":"    c_test.go:9: skipped for another reason\n"}
not JSON
{"Action":"output","Test":"TestD","Output":"    need.go:22: omitted: npm is not installed\n"}
`
	var b strings.Builder
	printSkipped(&b, skipReasons(strings.NewReader(events)))
	const want = "\nSkipped on this machine:\n    2 × no Chromium is installed\n    1 × npm is not installed\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "./..."}, {"-race -shuffle=on", "-race -shuffle=on ./..."}, {"-race ./flow/...", "-race ./flow/..."}, {"-parallel 1", "-parallel 1 ./..."},
	} {
		got := command("events", strings.Fields(c.args))
		parallel := strconv.Itoa(2 * runtime.GOMAXPROCS(0))
		defaults := []string{"-timeout", "30m", "-p", parallel, "-parallel", parallel} // later flags override them
		if after := got[slices.Index(got, "--")+1:]; !slices.Equal(after, append(defaults, strings.Fields(c.want)...)) {
			t.Errorf("%q: got %q, want %q", c.args, after, c.want)
		}
	}
}

func TestPassedPackages_lists_skipped_tests(t *testing.T) {
	t.Parallel()
	const events = `{"Action":"skip","Package":"sluice/db","Test":"TestSlow"}
{"Action":"skip","Package":"sluice/db","Test":"TestEach/postgres/large"}
{"Action":"skip","Package":"sluice/db","Test":"TestEach/sqlite/large"}
{"Action":"pass","Package":"sluice/db"}
{"Action":"pass","Package":"sluice/jobs","Test":"TestA"}
{"Action":"pass","Package":"sluice/jobs"}
{"Action":"pass","Package":"sluice/flow","Test":"TestB"}
{"Action":"fail","Package":"sluice/flow"}
{"Action":"skip","Package":"sluice/views"}
`
	if got, want := passedPackages(strings.NewReader(events)), "sluice/db TestEach TestSlow\nsluice/jobs\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSplit_runs_each_test_once(t *testing.T) {
	t.Parallel()
	packages := []string{"sluice/db", "sluice/flow", "sluice/jobs", "sluice/views"}
	got := split(packages, "sluice/db TestEach TestSlow\nsluice/jobs\n", []string{"-vet=off"})
	want := "[[-vet=off sluice/flow sluice/views] [-vet=off -run ^(TestEach|TestSlow)$ sluice/db]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := split([]string{"sluice/db", "sluice/flow"}, "sluice/db\n", nil); fmt.Sprint(got) != "[[sluice/flow]]" {
		t.Errorf("without a skipped test: got %s", got)
	}
}

func TestOwnFlags_come_first(t *testing.T) {
	t.Parallel()
	passed, except, rest := ownFlags(strings.Fields("-except done -race ./flow"))
	if passed != "" || except != "done" || !slices.Equal(rest, []string{"-race", "./flow"}) {
		t.Errorf("got %q, %q and %q", passed, except, rest)
	}
}

func TestFailedTests_explain_the_failure(t *testing.T) {
	t.Parallel()
	const one = `{"Action":"fail","Package":"sluice/db","Test":"TestA/x"}
{"Action":"fail","Package":"sluice/db","Test":"TestA"}
{"Action":"fail","Package":"sluice/db"}
{"Action":"pass","Package":"sluice/flow","Test":"TestB"}
{"Action":"pass","Package":"sluice/flow"}
`
	for name, c := range map[string]struct {
		events string
		want   []string
	}{
		"a failed test":  {one, []string{"sluice/db TestA"}},
		"a crash":        {one + `{"Action":"fail","Package":"sluice/jobs"}`, nil},
		"a data race":    {`{"Action":"output","Package":"sluice/db","Test":"TestA","Output":"WARNING: DATA RACE\n"}` + "\n" + one, nil},
		"no compilation": {one + `{"Action":"build-fail","ImportPath":"sluice/jobs"}`, nil},
		"many":           {one + strings.Repeat(`{"Action":"fail","Package":"sluice/db","Test":"TestB"}`+"\n", maxRepeated), nil},
		"none":           {`{"Action":"pass","Package":"sluice/db"}`, nil},
	} {
		if got := failedTests(strings.NewReader(c.events)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
