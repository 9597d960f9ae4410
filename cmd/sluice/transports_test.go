package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/flow"
	"sluice/flow/value"
	"sluice/providers/hosted/hostedtest"
)

// untabled are the commands that work through the API and are not in transportSteps, with the reasons.
var untabled = map[string]string{
	"dev": "runs until it is interrupted",
}

// serverLine is what commands print over the network alone before they change something.
var serverLine = regexp.MustCompile(`(?m)^Server: http://127\.0\.0\.1:[0-9]+\n`)

// transport is a way from commands to the API.
type transport string

const (
	overNetwork   transport = "over the network with a key"
	besideServer  transport = "beside the running server"
	withoutServer transport = "without a server"
)

// step is a command in the table of TestCommands_print_the_same_on_every_transport. The words
// {…} are replaced with what earlier steps printed.
type step struct {
	args     string
	in       string
	code     int
	operator bool   // only for the operator; over the network it is refused
	idle     bool   // only without a server
	executes bool   // prints what a server does meanwhile, so its output differs without one
	keep     string // name for the first word of standard output
}

// transportSteps has every command that works through the API: as a table and as JSON, with an empty
// and a full list, and with an error. {flow}, {ask}, {hook}, {run} … are set up by newTransportEnv.
var transportSteps = []step{
	{args: "flow list --json"}, {args: "flow list"},
	{args: "credential list"}, {args: "credential list --json"},
	{args: "price list"}, {args: "price list --json"}, {args: "price list claude-3-haiku"},
	{args: "key list"}, {args: "key list --json"},
	{args: "user list"}, {args: "user list --json"},
	{args: "usage"}, {args: "usage --by flow --json"}, {args: "usage --by nothing", code: exitError},
	{args: "audit verify"}, {args: "audit verify --json"},
	{args: "workspace limits list"}, {args: "workspace limits list --json"},
	{args: "provider list"}, {args: "provider list --json"}, {args: "provider models none", code: exitError},
	{args: "model list"}, {args: "model list --json"}, {args: "model list --category none", code: exitUsage},

	{args: "flow validate {dir}/greet.json {dir}/bad.json", code: exitError}, {args: "flow validate --json {dir}/greet.json {dir}/caller.json"}, {args: "flow validate {dir}/caller.json", code: exitError},
	{args: "flow import {dir}/greet.json {dir}/bad.json", code: exitError},
	{args: "flow import {dir}/greet.json --publish", keep: "flow"},
	{args: "flow import {dir}/ask.json --publish --json"}, {args: "flow import {dir}/hook.json --publish"}, // one at a time, for the order of their IDs
	{args: "flow import {dir}/greet.json --id greet --publish --json"}, {args: "flow import {dir}/greet.json --id none", code: exitError},
	{args: "flow list"}, {args: "flow list --json"},
	{args: "flow validate {dir}/caller.json"},
	{args: "flow export greet"}, {args: "flow export {flow} --version 1"}, {args: "flow export none", code: exitError}, {args: "flow export greet --version 9", code: exitError},
	{args: "flow publish greet"}, {args: "flow publish greet --version 1 --json"}, {args: "flow publish none", code: exitError}, {args: "flow publish greet --version 9", code: exitError},
	{args: "flow import {dir}/broken.json --id greet"}, {args: "flow diff greet"}, {args: "flow diff greet --json"}, {args: "flow diff none", code: exitError},
	{args: "flow publish greet", code: exitError}, {args: "flow publish greet --allow-breaking"},
	{args: "flow apply {dir}/greet.json --publish --fail-on-breaking", code: exitError}, {args: "flow apply {dir}/greet.json --publish --force"}, {args: "flow apply {dir}/greet.json --dry-run --json"},
	{args: "flow apply {dir}/bad.json", code: exitError}, {args: "flow diff {dir}/greet.json"}, {args: "flow pull {dir}/pulled"}, {args: "flow pull {dir}/pulled"},
	{args: "flow apply {dir}/greet.triggers.json --dry-run"}, {args: "flow apply {dir}/greet.triggers.json"}, {args: "flow apply {dir}/greet.triggers.json --json"}, {args: "flow diff {dir}/greet.triggers.json"},
	{args: "flow validate {dir}/greet.triggers.json {dir}/ask.triggers.json", code: exitError}, {args: "flow apply {dir}/ask.triggers.json", code: exitError}, {args: "flow fmt --check {dir}/greet.triggers.json", code: exitError},
	{args: "flow pull {dir}/pulled"}, {args: "flow pull {dir}/pulled"}, {args: "flow apply {dir}/pulled/greet.triggers.json --source here --prune"}, {args: "flow fmt --check {dir}/pulled"},
	{args: "flow limits greet"}, {args: "flow limits greet --max-running 3 --usd-per-day 2.5 --json"}, {args: "flow limits greet --usd-per-day 0"}, {args: "flow limits none", code: exitError}, {args: "flow limits greet --max-running -1", code: exitUsage},
	{args: "flow secret tell"}, {args: "flow secret tell --rotate"}, {args: "flow secret greet", code: exitError}, {args: "flow secret none", code: exitError}, {args: "flow secret tell --node none", code: exitError},

	{args: "alarm list"}, {args: "alarm list --json"}, {args: "alarm show none", code: exitError}, {args: "alarm set broken --kind failed --flow greet --to flow:greet", code: exitError},
	{args: "alarm set broken --kind failed --flow greet --to https://example.com/x"}, {args: "alarm set broken --kind failed --flow greet --to slack:https://example.com/x --json"}, {args: "alarm set slow --kind slow", code: exitError},
	{args: "alarm show broken"}, {args: "alarm show broken --json"}, {args: "alarm list"}, {args: "alarm pause broken"}, {args: "alarm resume broken --json"}, {args: "alarm messages broken"}, {args: "alarm messages broken --json"},
	{args: "alarm set quiet --kind silent --over 1h"}, {args: "alarm test quiet", code: exitError}, {args: "alarm secret broken"}, {args: "alarm secret none --rotate", code: exitError}, {args: "alarm test none", code: exitError}, {args: "alarm delete broken"}, {args: "alarm delete quiet --json"}, {args: "alarm delete none", code: exitError},
	{args: "trigger list greet"}, {args: "trigger list greet --json"}, {args: "trigger list none", code: exitError}, {args: "trigger show greet none", code: exitError}, {args: "trigger pause greet none", code: exitError},
	{args: "trigger resume greet none", code: exitError}, {args: "trigger now greet none", code: exitError}, {args: "trigger events greet none", code: exitError},

	{args: "trigger url greet none", code: exitError}, {args: "trigger rotate greet none", code: exitError}, {args: "trigger backfill greet none --from 2026-11-01T00:00:00Z --to 2026-11-02T00:00:00Z", code: exitError},
	{args: "trigger resume greet none --catch-up", code: exitError}, {args: "batch list greet"}, {args: "batch list greet --json"}, {args: "batch list none", code: exitError},
	{args: "batch show greet run_none", code: exitError}, {args: "batch watch greet run_none", code: exitError}, {args: "batch results greet run_none", code: exitError}, {args: "batch start greet {dir}/greet.json --column who", code: exitUsage},
	{args: "batch pause greet run_none", code: exitError}, {args: "batch resume greet run_none", code: exitError}, {args: "batch retry greet run_none", code: exitError}, {args: "batch cancel greet run_none", code: exitError},
	{args: "knowledge list"}, {args: "knowledge create handbook --name Handbook"}, {args: "knowledge create handbook", code: exitError}, {args: "knowledge create Hand-Book", code: exitError}, {args: "knowledge list"}, {args: "knowledge list --json"},
	{args: "knowledge show handbook"}, {args: "knowledge show handbook --json"}, {args: "knowledge show none", code: exitError}, {args: "knowledge search handbook refund"}, {args: "knowledge search none refund", code: exitError},
	{args: "knowledge add none {dir}/greet.json", code: exitError}, {args: "knowledge sync none {dir}/pulled", code: exitError}, {args: "knowledge remove handbook none", code: exitError}, {args: "knowledge export handbook"}, {args: "knowledge export none", code: exitError}, {args: "knowledge rebuild handbook", code: exitError}, {args: "knowledge rebuild handbook --model openai/text-embedding-3-small --estimate"}, {args: "knowledge rebuild handbook --model openai/text-embedding-3-small --estimate --json"}, {args: "knowledge create told --expose"}, {args: "knowledge delete told"}, {args: "knowledge rebuild none --model openai/text-embedding-3-small", code: exitError},
	{args: "knowledge delete handbook"}, {args: "knowledge delete handbook", code: exitError},
	{args: "workspace timezone"}, {args: "workspace timezone Europe/Berlin"}, {args: "workspace timezone"}, {args: "workspace timezone nowhere", code: exitError},

	{args: "run list greet"}, {args: "run list greet --json"}, {args: "delivery list tell"}, {args: "delivery list tell --json"}, {args: "run list none", code: exitError}, {args: "delivery list none", code: exitError},
	{args: "RUNS"}, // see transportEnv.startRuns
	{args: "run list greet"}, {args: "run list greet --json"}, {args: "run list greet --status nothing", code: exitError},
	{args: "run show greet {run}"}, {args: "run show greet {run} --json"}, {args: "run show greet run_none", code: exitError},
	{args: "run show {run}"}, {args: "run show run_none", code: exitError}, {args: "run steps {run}"}, {args: "run watch {run}"},
	{args: "run steps greet {run}"}, {args: "run steps greet {run} --tree"}, {args: "run steps greet {run} --json"}, {args: "run steps greet run_none", code: exitError},
	{args: "run watch greet {run}"}, {args: "run watch greet {run} --json"}, {args: "run watch greet run_none", code: exitError},
	{args: "run watch ask {third}", code: exitError, idle: true},
	{args: "run children greet {run}"}, {args: "run children greet {run} --json"}, {args: "run children greet run_none", code: exitError},
	{args: "usage --by flow"}, {args: "usage --by key --json"}, {args: "delivery list tell"}, {args: "delivery list tell --json"}, {args: "delivery resend dlv_none", code: exitError},
	{args: "run approvals ask {waiting}"}, {args: "run approvals ask {waiting} --json"}, {args: "run approvals greet {run}"}, {args: "run approvals ask run_none", code: exitError},
	{args: "run approve ask {waiting} none", code: exitError}, {args: "run approve ask {waiting} ask"}, {args: "run approve ask {waiting} ask", code: exitError},
	{args: "run reject ask {other} none", code: exitError}, {args: "run reject ask {other} ask"},
	{args: "case list greet"}, {args: "case list greet --json"}, {args: "case list none", code: exitError}, {args: "flow test greet", code: exitError}, {args: "flow test none", code: exitError},
	{args: "case from-run greet {run} --tag must", keep: "made"}, {args: "case remove greet {made}"},
	{args: "case add greet one -i name=Ada --tag must --name First"}, {args: "case add greet one -i name=Ada --tag must --name First --expect text=Bye"}, {args: "case add greet two -i name=Bob"}, {args: "case add greet Bad", code: exitError}, {args: "case add greet three --expect text", code: exitUsage},
	{args: "case list greet"}, {args: "case list greet --json"}, {args: "flow test greet", code: exitError}, {args: "flow test greet --tags none", code: exitError}, {args: "flow test greet --case two --repeat 2 --candidate draft --baseline live"}, {args: "flow test greet --repeat x", code: exitUsage},
	{args: "flow test greet --case two --start", keep: "test"}, {args: "test watch greet {test}"}, {args: "test show greet {test}"}, {args: "test show greet none", code: exitError}, {args: "test watch greet none", code: exitError},
	{args: "case from-run greet {run}", code: exitError}, {args: "case from-run greet run_none", code: exitError}, {args: "case from-run none {run}", code: exitError},
	{args: "case from-event greet open none", code: exitError}, {args: "case label greet {dir}/labels.csv --preview"}, {args: "case label greet {dir}/labels.csv"}, {args: "case label greet {dir}/greet.json", code: exitError}, {args: "case label none {dir}/labels.csv", code: exitError},
	{args: "case remove greet two"}, {args: "case remove greet one"}, {args: "case remove greet one", code: exitError},
	{args: "run cancel greet {run}"}, {args: "run cancel ask {third}", executes: true}, {args: "run cancel ask run_none", code: exitError},
	{args: "run rerun greet run_none", code: exitError}, {args: "run rerun tell {told} --from none", code: exitError},

	{args: "key create --name ci --scope run,read --flow greet --expires 90d --rpm 7", keep: "secret"}, {args: "key create --name other --json"},
	{args: "key create --name x --scope all", code: exitUsage}, {args: "key create --name x --flow none", code: exitError}, {args: "key create --name x --rpm -1", code: exitUsage},
	{args: "KEY ci"}, // keeps the ID of the key as {key}
	{args: "key rotate {key} --overlap 1h", keep: "secret"}, {args: "key rotate {key} --overlap 0s --json"}, {args: "key rotate key_none", code: exitError}, {args: "key rotate {key} --overlap 2000h", code: exitError},
	{args: "key secret {key}"}, {args: "key secret key_none", code: exitError},
	{args: "key list"}, {args: "key list --json"},
	{args: "key revoke {key}"}, {args: "key revoke {key} --cascade"}, {args: "key revoke key_none", code: exitError}, {args: "key list"},

	{args: "credential add --name api --host api.example.com", in: "sk-1"}, {args: "credential add --name api --host api.example.org", in: "sk-2"},
	{args: "credential add --name openai --provider openai", in: "sk-3"}, {args: "credential add --name replicate --provider replicate --host {platform}", in: hostedtest.Secret, operator: true},
	{args: "credential add --name a --provider opnai", in: "sk", code: exitUsage}, {args: "credential add --name a", in: "sk", code: exitUsage},
	{args: "credential list"}, {args: "credential list --json"},
	{args: "credential limits api"}, {args: "credential limits api --at-once 2 --per-minute 9"}, {args: "credential limits none", code: exitError}, {args: "credential limits api --at-once -1", code: exitUsage},
	{args: "credential test api", code: exitError}, {args: "credential test replicate"}, {args: "credential test none", code: exitError},
	{args: "credential tools api", code: exitError}, {args: "credential tools none", code: exitError},
	{args: "credential add --name desk --provider mcp --base-url https://desk.example.com/mcp"}, {args: "credential connections"}, {args: "credential connections --json"}, {args: "credential connections desk --json"},
	{args: "credential connections api", code: exitError}, {args: "credential connections none", code: exitError}, {args: "credential disconnect desk"}, {args: "credential disconnect api", code: exitError}, {args: "credential disconnect none", code: exitError},
	{args: "credential hosts api --host example.com", operator: true}, {args: "credential hosts none --host example.com", operator: true, code: exitError}, {args: "credential hosts openai --host example.com", operator: true, code: exitError},
	{args: "credential add --name open --any-host", in: "sk", operator: true}, {args: "credential list"},
	{args: "credential remove open"}, {args: "credential remove none", code: exitError}, {args: "credential remove api --force"},
	{args: "model list paint"}, {args: "model show acme/paint"}, {args: "model show acme/paint --json"}, {args: "model show acme/paint --node"}, {args: "model show acme/none", code: exitError}, {args: "model show x", code: exitUsage},
	{args: "model compare acme/paint none", code: exitError},

	{args: "price set openai/gpt-x --input 2.5 --output 10"}, {args: "price set openai/gpt-x --output 12"}, {args: "price set gpt-x --input 1", code: exitUsage}, {args: "price set openai/gpt-x", code: exitUsage},
	{args: "price list"}, {args: "price list gpt-x --json"}, {args: "price remove openai/gpt-x"}, {args: "price remove openai/gpt-x", code: exitError},

	{args: "workspace limits show default"}, {args: "workspace limits set default --bytes 5GiB --runs unlimited --json"}, {args: "workspace limits show default --json"}, {args: "workspace limits list"},
	{args: "workspace limits show Nobody", code: exitError}, {args: "workspace limits set Nobody --runs 3", code: exitError}, {args: "workspace limits set default", code: exitUsage},

	{args: "user add --email ada@example.com --password-stdin", in: "violin harbor seventeen moss\n", operator: true}, {args: "user add --email bob@example.com --password-stdin --role editor", in: "violin harbor seventeen moss\n", operator: true},
	{args: "user add --email ada@example.com", operator: true, code: exitError}, {args: "user add --email eve@example.com --password-stdin", in: "short\n", operator: true, code: exitError},
	{args: "user list"}, {args: "user list --json"},
	{args: "user password bob@example.com --password-stdin", in: "a different long phrase\n", operator: true}, {args: "user password eve@example.com --password-stdin", in: "a different long phrase\n", operator: true, code: exitError},
	{args: "user reset-2fa bob@example.com", operator: true, code: exitError}, {args: "user reset-2fa eve@example.com", operator: true, code: exitError},
	{args: "user remove bob@example.com", operator: true}, {args: "user remove bob@example.com", operator: true, code: exitError}, {args: "user remove ada@example.com", operator: true, code: exitError},
	{args: "audit verify --json"}, {args: "audit export --after 1000000"}, {args: "audit export --after=-1", code: exitUsage},
}

// transportEnv is a data directory and the way to its API.
type transportEnv struct {
	t       *testing.T
	by      transport
	dir     string
	words   map[string]string // for {…} in steps
	cfg     Config
	app     *app // nil without a server
	network []string
}

// newTransportEnv prepares equal data directories: without flows, and with one key, which the
// network transport uses.
func newTransportEnv(t *testing.T, by transport, flags ...string) *transportEnv {
	t.Helper()
	e := &transportEnv{t: t, by: by, dir: t.TempDir(), words: map[string]string{}}
	e.words["dir"] = e.dir
	c := &cli{}
	if _, err := newProgram(c).Parse(append([]string{"serve", "--data-dir=" + filepath.Join(e.dir, "data")}, flags...)); err != nil {
		t.Fatal(err)
	}
	e.cfg = c.Config
	e.start() // which adds sample flows
	for id := range strings.Lines(e.local("flow", "list")) {
		if id, _, _ := strings.Cut(id, " "); strings.HasPrefix(id, "flow_") {
			e.archive(id)
		}
	}
	e.words["transport"] = strings.TrimSpace(e.local("key", "create", "--name", "transport", "--scope", "run,read,manage,edit,approve,admin"))
	e.network = []string{"--server=" + e.app.local, "--key=" + e.words["transport"]}
	if by == withoutServer {
		e.stop()
	}
	return e
}

// start starts the server.
func (e *transportEnv) start() {
	e.t.Helper()
	a, err := startApp(e.t.Context(), &e.cfg, slog.New(slog.DiscardHandler), appOptions{})
	if err != nil {
		e.t.Fatal(err)
	}
	e.app = a
	e.t.Cleanup(e.stop)
}

// stop stops the server, if it runs.
func (e *transportEnv) stop() {
	if e.app == nil {
		return
	}
	if err := e.app.stop(); err != nil {
		e.t.Error(err)
	}
	e.app = nil
}

// archive archives a flow through the running server.
func (e *transportEnv) archive(id string) {
	e.t.Helper()
	api, err := e.cfg.runningServer(context.Background())
	if err != nil || api == nil {
		e.t.Fatal(api, err)
	}
	if _, err := api.Call(context.Background(), "POST", "/v1/flow/"+id+"/archive", nil); err != nil {
		e.t.Fatal(err)
	}
}

// local runs a command that must succeed on the machine of the server.
func (e *transportEnv) local(args ...string) string {
	e.t.Helper()
	var out, errs bytes.Buffer
	if code := run(append(args, e.flags()...), nil, &out, &errs); code != exitOK {
		e.t.Fatalf("%s: %v: exit %d: %s", e.by, args, code, &errs)
	}
	return out.String()
}

// flags are the settings of commands on the machine of the server.
func (e *transportEnv) flags() []string {
	return []string{"--data-dir=" + e.cfg.DataDir, "--public-url=" + e.cfg.PublicURL, "--allow-private=" + e.cfg.AllowPrivate, "--replicate-url=" + e.cfg.ReplicateURL, "--local-models=off"}
}

// do runs a step and returns its normalized output.
func (e *transportEnv) do(s step) string {
	e.t.Helper()
	args := strings.Fields(regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(s.args, func(m string) string { return e.words[m[1:len(m)-1]] }))
	switch args[0] {
	case "RUNS":
		e.startRuns()
		return ""
	case "KEY":
		e.words["key"] = regexp.MustCompile(`(?m)^(key_\w+) +\S+ +` + args[1] + ` `).FindStringSubmatch(e.local("key", "list"))[1]
		return ""
	}
	if e.by == overNetwork && s.operator {
		var out, errs bytes.Buffer
		if code := run(append(slices.Clone(args), e.network...), strings.NewReader(s.in), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), "over HTTP") {
			e.t.Errorf("%s: exit %d: %s%s", s.args, code, &out, &errs)
		}
	}
	where := e.flags()
	if e.by == overNetwork && !s.operator {
		where = e.network
	}
	var out, errs bytes.Buffer
	code := run(append(args, where...), strings.NewReader(s.in), &out, &errs)
	if code != s.code {
		e.t.Errorf("%s: %s: exit %d, wanted %d: %s%s", e.by, s.args, code, s.code, &out, &errs)
	}
	if s.keep != "" {
		e.words[s.keep] = strings.TrimSpace(out.String())
	}
	said := serverLine.ReplaceAllString(errs.String(), "")
	return fmt.Sprintf("exit %d\n%s---\n%s", code, e.normalized(out.String()), e.normalized(said))
}

// startRuns runs flows to their end or to a question. It needs a server.
func (e *transportEnv) startRuns() {
	e.t.Helper()
	if e.by == withoutServer {
		e.start()
		defer e.stop()
	}
	ctx := context.Background()
	api, err := e.cfg.runningServer(ctx)
	if err != nil || api == nil {
		e.t.Fatal(api, err)
	}
	for _, r := range []struct{ word, flow string }{{"run", "greet"}, {"told", "tell"}, {"waiting", "ask"}, {"other", "ask"}, {"third", "ask"}} {
		run, err := api.Start(ctx, r.flow, value.NewObject(value.Member{Name: "name", Value: "Ada"}))
		if err != nil {
			e.t.Fatal(err)
		}
		for run.Status != string(flow.RunWaiting) && !flow.RunState(run.Status).Ended() {
			raw, err := api.Call(ctx, "GET", "/v1/flow/"+r.flow+"/run/"+run.ID+"?wait=1", nil)
			if err != nil {
				e.t.Fatal(err)
			}
			run.Status = regexp.MustCompile(`"status":\s*"(\w+)"`).FindStringSubmatch(string(raw))[1]
		}
		e.words[r.word] = run.ID
	}
	e.untilDelivered()
}

// untilDelivered waits until the only delivery has been made.
func (e *transportEnv) untilDelivered() {
	e.t.Helper()
	for !strings.Contains(e.local("delivery", "list", "tell"), "delivered") {
		if e.t.Context().Err() != nil {
			e.t.Fatal("the webhook was not delivered")
		}
	}
}

var (
	anyID     = regexp.MustCompile(`\b([a-z]+)[_-][0-9a-z]{26}\b`)
	anySecret = regexp.MustCompile(`\b(slu|whsec)_[A-Za-z0-9+/=]+`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?|\d{1,2} [A-Z][a-z]{2} \d{4}, \d\d:\d\d UTC|[A-Z][a-z]{2} \d{1,2}, \d{4}, \d{1,2}:\d\d [AP]M UTC`)
	anySize   = regexp.MustCompile(`("bytes": \{\s*"used": )\d+|\b\d+(?:\.\d+)? [KM]iB of`)
	anySpan   = regexp.MustCompile(`("\w*_ms": )\d+|(?:[+-]|\b)\d+(\.\d+)? ?m?s\b`)
)

// normalized returns output without what differs between equal directories: random IDs and secrets,
// times, and the one who calls. What is left of a line has its columns one space apart, because
// their width depends on it.
func (e *transportEnv) normalized(text string) string {
	text = strings.ReplaceAll(text, e.dir, "DIR")
	text = strings.NewReplacer("The key transport ", "CALLER ", "The key command line ", "CALLER ").Replace(text)
	text = anySize.ReplaceAllString(text, "${1}SIZE")
	text = anySecret.ReplaceAllString(text, "${1}_SECRET")
	text = anyTime.ReplaceAllString(text, "TIME")
	text = anySpan.ReplaceAllString(text, "${1}SPAN")
	return anyID.ReplaceAllString(text, "${1}_ID")
}

var (
	usesOfKey = regexp.MustCompile(`(?m)^ *"(last_used_at|last_used_ip|calls|created_by|key_id|actor)": .*$`)
	columns   = regexp.MustCompile(` {2,}`)
	keyLine   = regexp.MustCompile(`(?m)^(key_ID \S+ (?:transport|ci|other) \S+ \S+).*$`)
)

// withoutCaller removes from lists of keys what tells which key the network transport uses.
func withoutCaller(text string) string {
	text = usesOfKey.ReplaceAllString(text, "    CALLER")
	return keyLine.ReplaceAllString(columns.ReplaceAllString(text, " "), "$1")
}

// TestCommands_print_the_same_on_every_transport runs every command that works through the API over
// the network, beside a running server and without a server, and compares what they print.
func TestCommands_print_the_same_on_every_transport(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(hook.Close)
	platform := hostedtest.New(t)
	platform.AddModel(hostedtest.Model{Owner: "acme", Name: "paint"})
	flags := []string{"--addr=127.0.0.1:0", "--public-url=https://sluice.example.com", "--allow-private=127.0.0.0/8", "--replicate-url=" + platform.URL, "--local-models=off", "--drain-delay=0"}
	var envs []*transportEnv
	for _, by := range []transport{withoutServer, besideServer, overNetwork} {
		e := newTransportEnv(t, by, flags...)
		e.words["platform"] = regexp.MustCompile(`[\d.]+:\d+`).FindString(platform.URL)
		writeTransportFlows(t, e.dir, hook.URL)
		envs = append(envs, e)
	}
	for _, s := range transportSteps {
		if s.idle {
			if got := envs[0].do(s); !strings.Contains(got, "start 'sluice serve'") {
				t.Errorf("sluice %s prints %s", s.args, got)
			}
			continue
		}
		want := ""
		for i, e := range envs {
			got := e.do(s)
			if strings.HasPrefix(s.args, "workspace limits") || strings.HasPrefix(s.args, "run list") {
				got = columns.ReplaceAllString(got, " ")
			}
			if strings.HasPrefix(s.args, "key list") || strings.HasPrefix(s.args, "key ") && strings.HasSuffix(s.args, "--json") || strings.HasPrefix(s.args, "usage --by key") {
				got = withoutCaller(got)
			}
			if i == 0 || s.executes && i == 1 {
				want = got
			} else if got != want && !(s.executes && i == 1) {
				t.Errorf("sluice %s prints %s\n%s\n%s\n%s", s.args, e.by, got, envs[0].by, want)
			}
		}
	}
}

// writeTransportFlows writes the documents that steps name.
func writeTransportFlows(t *testing.T, dir, hook string) {
	t.Helper()
	const (
		greet = `{"schema": "sluice.flow/v1", "slug": "greet", "name": "Greet", "nodes": [
  {"id": "name", "kind": "input", "config": {"name": "name", "type": "text"}}, {"id": "text", "kind": "template", "config": {"template": "Hello {{name}}!"}}, {"id": "out", "kind": "output", "config": {"name": "text"}}],
 "edges": [{"from": "name.value", "to": "text.name"}, {"from": "text.text", "to": "out.value"}]}`
		tell = `{"schema": "sluice.flow/v1", "slug": "tell", "name": "Tell", "nodes": [
  {"id": "name", "kind": "input", "config": {"name": "name", "type": "text"}}, {"id": "out", "kind": "output", "config": {"name": "text"}}, {"id": "hook", "kind": "webhook", "config": {"url": "HOOK/x"}}],
 "edges": [{"from": "name.value", "to": "out.value"}]}`
		ask = `{"schema": "sluice.flow/v1", "slug": "ask", "name": "Ask", "nodes": [
  {"id": "name", "kind": "input", "config": {"name": "name", "type": "text"}}, {"id": "ask", "kind": "approval", "config": {"title": "Send it?", "values": ["draft"], "editable": ["draft"]}}, {"id": "out", "kind": "output", "config": {"name": "text"}}],
 "edges": [{"from": "name.value", "to": "ask.draft"}, {"from": "ask.draft", "to": "out.value"}]}`
		caller = `{"schema": "sluice.flow/v1", "slug": "caller", "name": "Caller", "nodes": [{"id": "s", "kind": "subflow", "config": {"flow": "greet"}}, {"id": "o", "kind": "output", "config": {"name": "o"}}], "edges": [{"from": "s.outputs", "to": "o.value"}]}`
	)
	for name, document := range map[string]string{
		"greet": greet, "bad": strings.Replace(greet, `"template", "config"`, `"tempalte", "config"`, 1), "broken": strings.ReplaceAll(strings.ReplaceAll(greet, `"name": "name"`, `"name": "who"`), `, "type": "text"`, ""),
		"hook": strings.Replace(tell, "HOOK", hook, 1), "ask": ask, "caller": caller,
		"greet.triggers": `{"schema": "sluice.triggers/v1", "triggers": [{"kind": "schedule", "name": "daily", "cron": "0 9 * * *", "inputs": {"who": "Ada"}}, {"kind": "hook", "name": "open", "verify": {"scheme": "none"}}]}`,
		"ask.triggers":   `{"schema": "sluice.triggers/v1", "triggers": [{"kind": "schedule", "name": "daily", "cron": "0 25 * * *"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".json"), []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "labels.csv"), []byte("case,text\none,Hello Ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "pulled"), 0o700); err != nil {
		t.Fatal(err)
	}
}

// TestCommands_are_compared_on_every_transport checks that no command that works through the API is
// missing from the table.
func TestCommands_are_compared_on_every_transport(t *testing.T) {
	t.Parallel()
	for _, leaf := range newProgram(&cli{}).Leaves() {
		name := strings.TrimPrefix(leaf.Path(), "sluice ")
		_, api := leaf.Target().(apiRunner)
		tabled := slices.ContainsFunc(transportSteps, func(s step) bool { return s.args == name || strings.HasPrefix(s.args, name+" ") })
		if api && tabled == (untabled[name] != "") {
			t.Errorf("%s: it is in the table is %t, and the reason why not is %q", name, tabled, untabled[name])
		}
	}
}
