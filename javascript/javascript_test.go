package javascript

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/e2e/need"
	"sluice/sandbox"
)

var runner = New()

// testCPU is how long programs may compute. With the race detector they are many times
// slower.
const testCPU = time.Second * sandbox.MemoryFactor * sandbox.MemoryFactor

func TestMain(m *testing.M) {
	code := m.Run()
	runner.Close()
	os.Exit(code)
}

// run runs a program on inputs at a fixed time.
func run(t *testing.T, source, inputs string) (value, log string, err error) {
	t.Helper()
	result, err := runner.Run(t.Context(), "w", Program{Source: source, Inputs: json.RawMessage(inputs), Time: time.UnixMilli(1_700_000_000_000), Seed: "run_1:code", CPU: testCPU})
	return string(result.Value), result.Log, err
}

// TestRun proves what a program may do: every kind of value, promises, and console.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ source, inputs, value, log string }{
		"sum":              {`export default function ({a, b}) { return a + b }`, `{"a": 1, "b": 2}`, `3`, ""},
		"arrow":            {`export default (ports) => ({n: ports.list.length})`, `{"list": [1, 2]}`, `{"n":2}`, ""},
		"async":            {`export default async function () { const x = await Promise.resolve(4); return x * 2 }`, `{}`, `8`, ""},
		"generator":        {`function* g() { yield 1; yield 2 }; export default () => [...g()]`, `{}`, `[1,2]`, ""},
		"ES2023":           {`export default () => [3, 1, 2].toSorted().findLast((x) => x < 3)`, `{}`, `2`, ""},
		"regular expr":     {`export default ({s}) => s.replace(/(?<y>\d{4})-(?<m>\d\d)/u, "$<m>.$<y>")`, `{"s": "2026-11"}`, `"11.2026"`, ""},
		"text":             {`export default () => "é😀\u2028\u0000"`, `{}`, "\"é😀\u2028\\u0000\"", ""},
		"nothing":          {`export default () => {}`, `{}`, ``, ""},
		"null":             {`export default () => null`, `{}`, `null`, ""},
		"named export":     {`function f() { return 1 }; export { f as default }`, `{}`, `1`, ""},
		"console":          {"export default ({a}) => { console.log('a is', a, [1, {b: 2}], null, undefined, new Error('x')); console.error('y'); return 1 }", `{"a": "z"}`, `1`, "a is z [1,{\"b\":2}] null undefined Error: x\ny\n"},
		"time":             {`export default () => [Date.now(), new Date().toISOString(), new Date(0).getTime(), new Date() instanceof Date, typeof Date(), new (new Date().constructor)().getTime(), new Date(2020, 0, 1).getTimezoneOffset()]`, `{}`, `[1700000000000,"2023-11-14T22:13:20.000Z",0,true,"string",1700000000000,0]`, ""},
		"no other clock":   {`export default () => [typeof performance, typeof setTimeout, typeof SharedArrayBuffer, typeof Atomics, typeof WeakRef, typeof FinalizationRegistry]`, `{}`, `["undefined","undefined","undefined","undefined","undefined","undefined"]`, ""},
		"nothing outside":  {`export default () => [typeof process, typeof require, typeof fetch, typeof std, typeof os, typeof scriptArgs, typeof __log, typeof __start, typeof __done]`, `{}`, `["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`, ""},
		"own tools broken": {`JSON.stringify = () => { throw new Error("no") }; Promise.resolve = null; export default () => ({a: 1})`, `{}`, `{"a":1}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			value, log, err := run(t, c.source, c.inputs)
			if err != nil || value != c.value || log != c.log {
				t.Errorf("got %s, log %q, error %v; want %s, log %q", value, log, err, c.value, c.log)
			}
		})
	}
}

// TestErrors proves that an error says what is wrong and in which line.
func TestErrors(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for name, c := range map[string]struct {
		source, message string
		line            int
	}{
		"exception":         {"export default (i) => {\n  const x = i.nothing\n  return x.y\n}", "TypeError: cannot read property 'y' of undefined.", 3},
		"thrown text":       {"export default () => { throw 'no' }", "no.", 0},
		"thrown error":      {"export default () => {\n throw new RangeError('too far!') }", "RangeError: too far!", 2},
		"async":             {"export default async () => {\n await null;\n null.x }", "TypeError: cannot read property 'x' of null.", 3},
		"while loading":     {"let a;\na.b;\nexport default () => 1", "TypeError: cannot read property 'b' of undefined.", 2},
		"syntax":            {"export default () => {\n  return 1 +\n}", "SyntaxError: unexpected token in expression: '}'.", 3},
		"no function":       {"export default 1", "TypeError: the code has no default function: begin it with export default function (inputs) {.", 0},
		"import":            {"import fs from 'fs'\nexport default () => 1", "TypeError: module load failed: code cannot import modules, and asked for fs.", 0},
		"thrown null":       {"export default () => { throw null }", "null.", 0},
		"never":             {"export default () => new Promise(() => {})", "The code waits for a promise that never resolves. Code has no timers and no network.", 0},
		"recursion":         {"function f() {\n return 1 + f() }\nexport default () => f()", "The code recurses too deeply.", 2},
		"memory":            {"export default () => {\n const a = []\n for (;;) a.push('x'.repeat(1e6) + a.length) }", "The code used more than 128 MiB of memory.", 3},
		"function returned": {"export default () => () => 1", "TypeError: a function cannot be returned.", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := run(t, c.source, "{}")
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Message != c.message || c.line != 0 && e.Line != c.line {
				t.Errorf("got %+v, want line %d: %s", err, c.line, c.message)
			}
		})
	}
}

// eitherLimit is the message of the limit that is reached first, of time or of memory.
const eitherLimit = "one of the limits"

// TestHostile proves that a program ends within its limits, whatever it does, that its
// log is kept, and that the next program is not affected.
func TestHostile(t *testing.T) {
	t.Parallel()
	need.Time(t)
	for name, c := range map[string]struct{ source, message string }{
		"loop":            {"export default () => {\n console.log('here');\n while (1) {} }", "The code took more than 1 s of CPU time."},
		"regexp":          {"export default () => {\n console.log('here');\n return /^(a+)+$/.test('a'.repeat(60) + 'b') }", "The code took more than 1 s of CPU time."},
		"promises":        {"export default () => {\n console.log('here');\n const f = () => Promise.resolve().then(f); return f() }", eitherLimit},
		"many buffers":    {"export default () => { console.log('here'); const a = []; for (;;) a.push(new ArrayBuffer(1 << 20)) }", "The code used more than 128 MiB of memory."},
		"many entries":    {"export default () => { console.log('here'); const m = new Map(); for (let i = 0;; i++) m.set(i, {}) }", eitherLimit},
		"many objects":    {"export default () => { console.log('here'); let a = null; for (;;) a = {a} }", eitherLimit},
		"many promises":   {"export default async () => { console.log('here'); const a = []; for (;;) a.push(new Promise(() => {})) }", eitherLimit},
		"awaiting":        {"export default async () => { console.log('here'); for (;;) await null }", "The code took more than 1 s of CPU time."},
		"caught memory":   {"export default () => { console.log('here'); const a = []; for (;;) try { for (;;) a.push(new ArrayBuffer(1 << 20)) } catch {} }", ""},
		"much JSON":       {"export default () => { console.log('here'); return Array(3e6).fill('\\u0001\\u0001') }", ""},
		"sort":            {"export default () => { console.log('here'); const a = Array.from({length: 1e6}, (_, i) => i); for (;;) a.sort(() => 1) }", "The code took more than 1 s of CPU time."},
		"string doubling": {"export default () => { console.log('here'); let s = 'x'; for (;;) s += s + s.length }", "The code built a text that is too long."},
		"much log":        {"export default () => { console.log('here'); for (let i = 0; i < 1e4; i++) console.log('line', i); null.x }", "TypeError: cannot read property 'x' of null."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, log, err := run(t, c.source, "{}")
			e, ok := errors.AsType[*Error](err)
			if ok && c.message == eitherLimit && strings.HasPrefix(e.Message, "The code ") && strings.Contains(e.Message, " more than 1") {
				c.message = e.Message
			}
			if !ok || c.message != "" && e.Message != c.message || e.Message == "" || !strings.HasPrefix(log, "here\n") || len(log) > MaxLog {
				t.Errorf("got %+v and %d bytes of log, want %q", err, len(log), c.message)
			}
			if value, _, err := run(t, "export default () => typeof globalThis.s", "{}"); err != nil || value != `"undefined"` {
				t.Errorf("the next program: %s %v", value, err)
			}
		})
	}
}

// TestSeed proves that random numbers depend on the seed alone.
func TestSeed(t *testing.T) {
	t.Parallel()
	need.Time(t)
	draw := func(seed string) string {
		r, err := runner.Run(t.Context(), "w", Program{Source: "export default () => Array.from({length: 1000}, Math.random)", Inputs: json.RawMessage("{}"), Time: time.Now(), Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return string(r.Value)
	}
	first := draw("a")
	if first != draw("a") || first == draw("b") {
		t.Error("the numbers do not follow the seed")
	}
	var numbers []float64
	if err := json.Unmarshal([]byte(first), &numbers); err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, n := range numbers {
		if n < 0 || n >= 1 {
			t.Errorf("%v is not in [0, 1)", n)
		}
		sum += n
	}
	if sum < 450 || sum > 550 {
		t.Errorf("the mean of 1,000 numbers is %v", sum/1000)
	}
}

// TestMany proves that programs wait for each other instead of failing.
func TestMany(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			value, _, err := run(t, "export default ({i}) => i * 2", fmt.Sprintf(`{"i": %d}`, i))
			if err != nil || value != fmt.Sprint(i*2) {
				t.Errorf("%d: %s %v", i, value, err)
			}
		})
	}
	all.Wait()
}

// TestCanceled proves that a program ends with its context.
func TestCanceled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := runner.Run(ctx, "w", Program{Source: "export default () => { for (;;) {} }", Inputs: json.RawMessage("{}")})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestCheck proves that code that cannot run is found without running it.
func TestCheck(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]*Error{
		"export default () => 1":                        nil,
		"function f() {}\nexport {\n f as default\n}":   nil,
		"export default function (a) {\n return 1 +\n}": {"SyntaxError: unexpected token in expression: '}'.", 3},
		"function f() {}":                               {"The code exports no function. Begin it with export default function (inputs) {", 0},
		strings.Repeat("[", 30_000):                     {"SyntaxError: stack overflow.", 1},
		strings.Repeat(" ", MaxSource+1):                {"The code has 256 KiB; the limit is 256 KiB.", 0},
		"while (1) {}; export default () => 1":          nil,
	} {
		got := Check(source)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%.60q: got %+v, want %+v", source, got, want)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		if _, err := runner.Run(b.Context(), "w", Program{Source: "export default ({i}) => i", Inputs: json.RawMessage(`{"i":1}`)}); err != nil {
			b.Fatal(err)
		}
	}
}
