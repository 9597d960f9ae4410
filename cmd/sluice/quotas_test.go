package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/flow"
)

func TestQuotaSettings(t *testing.T) {
	t.Parallel()
	unlimited := flow.Storage{}
	for name, test := range map[string]struct {
		args []string
		want flow.Storage
	}{
		"closed sign-up":            {nil, unlimited},
		"closed sign-up, set":       {[]string{"--quota-bytes=5GiB", "--quota-runs=1,000"}, flow.Storage{Bytes: 5 << 30, Runs: 1000}},
		"open sign-up":              {[]string{"--signup=open"}, flow.Storage{Bytes: 1 << 30, Flows: 100, Runs: 10_000}},
		"open sign-up, one of them": {[]string{"--signup=open", "--quota-flows=7"}, flow.Storage{Bytes: 1 << 30, Flows: 7, Runs: 10_000}},
		"open sign-up, unlimited":   {[]string{"--signup=open", "--quota-bytes=unlimited", "--quota-flows=unlimited", "--quota-runs=0"}, unlimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c cli
			if _, err := newProgram(&c).Parse(append([]string{"serve"}, test.args...)); err != nil {
				t.Fatal(err)
			}
			if got := c.quota(); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
	for _, arg := range []string{"--quota-bytes=much", "--quota-runs=-1", "--quota-flows=1GiB"} {
		var c cli
		if _, err := newProgram(&c).Parse([]string{"serve", arg}); err == nil || !strings.Contains(err.Error(), "is not a quota") {
			t.Errorf("%s: %v", arg, err)
		}
	}
}

func TestWorkspaceLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(want int, args ...string) string {
		t.Helper()
		code, out := doctor(t, dir, args...)
		if code != want {
			t.Fatalf("%v: exit %d:\n%s", args, code, out)
		}
		return out
	}
	wants := func(out string, parts ...string) {
		t.Helper()
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%q is not in:\n%s", part, out)
			}
		}
	}
	run(exitOK, "migrate")
	wants(run(exitOK, "workspace", "limits", "list"), "default", "0 bytes of unlimited", "Default")
	wants(run(exitOK, "workspace", "limits", "set", "default", "--bytes", "1GiB", "--flows", "2"), "0 bytes of 1 GiB", "0 of 2", "0 of unlimited", "set for this workspace", "server's default")
	wants(run(exitOK, "workspace", "limits", "set", "default", "--bytes", "default", "--runs", "10"), "0 bytes of unlimited", "0 of 2", "0 of 10")

	var shown struct {
		ID    string
		Flows struct {
			Used    int64
			Limit   *int64
			Default bool
		}
		Bytes struct{ Limit *int64 }
	}
	if err := json.Unmarshal([]byte(run(exitOK, "workspace", "limits", "show", "default", "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.ID != "default" || shown.Flows.Limit == nil || *shown.Flows.Limit != 2 || shown.Flows.Default || shown.Bytes.Limit != nil {
		t.Errorf("as JSON: %+v", shown)
	}
	wants(run(exitOK, "workspace", "limits", "list", "--json"), `"runs": {`, `"limit": 10`)
	wants(run(exitUsage, "workspace", "limits", "set", "default"), "at least one of --bytes")
	wants(run(exitUsage, "workspace", "limits", "set", "default", "--bytes", "lots"), "is not a quota")
	wants(run(exitError, "workspace", "limits", "show", "ws_none"), "there is no workspace")
	wants(run(exitError, "workspace", "limits", "set", "ws_none", "--runs", "1"), "there is no workspace")

	if out := run(exitOK, "doctor"); strings.Contains(out, "quotas") {
		t.Errorf("an empty workspace is called full:\n%s", out)
	}
	run(exitOK, "flow", "import", "starters/summarize-a-text.json")
	run(exitOK, "flow", "import", "starters/answer-from-a-document.json")
	wants(run(exitOK, "doctor"), "Default (default) uses 2 of 2 flows", "sluice workspace limits set default --flows")
	wants(run(exitError, "flow", "import", "starters/route-a-support-ticket.json"), "has 2 of at most 2 flows")
}
