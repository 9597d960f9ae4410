package main

import (
	"slices"
	"strings"
	"testing"
)

func TestLeftOut(t *testing.T) {
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
	printLeftOut(&b, leftOut(strings.NewReader(events)))
	const want = "\nLeft out on this machine:\n    2 × no Chromium is installed\n    1 × npm is not installed\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"", "-timeout 30m ./..."}, {"-race -shuffle=on", "-timeout 30m -race -shuffle=on ./..."}, {"-race ./flow/...", "-timeout 30m -race ./flow/..."},
	} {
		got := command("events", strings.Fields(c.args))
		if after := got[slices.Index(got, "--")+1:]; strings.Join(after, " ") != c.want {
			t.Errorf("%q: got %q, want %q", c.args, after, c.want)
		}
	}
}
