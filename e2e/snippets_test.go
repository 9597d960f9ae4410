package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sluice/e2e/need"
	"sluice/e2e/npm"
	flowcontract "sluice/flow/contract"
	"sluice/flow/document"
	"sluice/snippets"
)

// language describes how the snippets of a programming language are run on this machine.
type language struct {
	id    string
	tools []string
	file  string                                     // what a snippet is saved as
	make  func(t *testing.T, dir string)             // once all snippets are written below dir
	run   func(dir string, more ...string) *exec.Cmd // the one in dir
	serve func(dir string, port int) *exec.Cmd       // the webhook one in dir; nil is run
}

func languages() []*language {
	script := func(tool, file string) func(string, ...string) *exec.Cmd {
		return func(dir string, more ...string) *exec.Cmd {
			return exec.Command(tool, append([]string{filepath.Join(dir, file)}, more...)...)
		}
	}
	return []*language{
		{id: "curl", tools: []string{"sh", "curl", "openssl"}, file: "call.sh", run: script("sh", "call.sh")},
		{id: "python", tools: []string{"python3"}, file: "call.py", run: script("python3", "call.py")},
		{id: "javascript", tools: []string{"node"}, file: "call.mjs", run: script("node", "call.mjs")},
		{id: "typescript", tools: []string{"node", "npm"}, file: "call.ts", make: compileTypes, run: script("node", "call.js")},
		{id: "go", tools: []string{"go"}, file: "main.go", make: buildGo, run: func(dir string, _ ...string) *exec.Cmd {
			return exec.Command(filepath.Join(filepath.Dir(dir), "bin", filepath.Base(dir)))
		}},
		{id: "php", tools: []string{"php"}, file: "call.php", run: script("php", "call.php"), serve: func(dir string, port int) *exec.Cmd {
			return exec.Command("php", "-S", "127.0.0.1:"+strconv.Itoa(port), filepath.Join(dir, "call.php"))
		}},
		{id: "ruby", tools: []string{"ruby"}, file: "call.rb", run: script("ruby", "call.rb")},
		{id: "java", tools: []string{"java", "javac"}, file: "Call.java", run: func(dir string, _ ...string) *exec.Cmd {
			// Without the optimising compiler, which short programs only wait for.
			return exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", filepath.Join(dir, "Call.java"))
		}},
	}
}

// compileTypes requires the strict compiler to report nothing, and returns its output files.
func compileTypes(t *testing.T, dir string) {
	modules := npm.Install(t, filepath.Join("testdata", "snippets"))
	config := object{"include": []string{"*/call.ts"}, "compilerOptions": object{
		"strict": true, "target": "es2023", "module": "nodenext", "types": []string{"node"}, "typeRoots": []string{filepath.Join(modules, "@types")},
		"erasableSyntaxOnly": true, "noUncheckedIndexedAccess": true,
	}}
	writeJSON(t, filepath.Join(dir, "tsconfig.json"), config)
	writeJSON(t, filepath.Join(dir, "package.json"), object{"type": "module"})
	wantQuiet(t, dir, "node", filepath.Join(modules, "typescript", "bin", "tsc"), "-p", dir)
}

func buildGo(t *testing.T, dir string) {
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module called\n\ngo 1.22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantQuiet(t, dir, "go", "build", "-o", "bin/", "./...")
	wantQuiet(t, dir, "gofmt", "-l", ".")
}

// wantQuiet runs a tool that prints only problems.
func wantQuiet(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, environment("GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// awkward contains characters that end a literal, a comment or a program in some language, and
// invisible ones. NUL is not allowed in Sluice.
const awkward = `@it's "quoted" ` + "`id`" + ` $HOME ${x} #{x} #$0 #@x {{x}} %s %d %% \ \n \u0041 \u{41} \' \" ''' """ */ /* // -- <?php ?> </script> $(id) !! ~ & ; | > < EOF` +
	"\r\n\tnext\nline\v\f\a\x01\x1b[0m\x7f \u00a0\u200b\u202e\u2028\u2029\ufeff é ß 漢字 😀 👩‍👩‍👧 \U000e0001 end \\"

// nested has awkward names too.
var nested = object{
	"": "", "0": "zero", "7": []any{}, "-1": object{}, "a b": nil, `"'$x\`: true, "__proto__": "p", "class": false, "#{y}": awkward, "numbers": []any{0, -1, 1.5, 1e-7, 123456789012345, 6.02e23},
	"deep": []any{[]any{[]any{object{"a": []any{object{"b": object{"c": "d"}}}}}}}, "long": strings.Repeat("word ", 40), "astral 😀": "𝒳",
}

// beyond are numbers that a float64 cannot represent.
var beyond = []any{json.Number("12345678901234567890"), json.Number("-9223372036854775808"), json.Number("3.14159265358979323846"), object{"n": json.Number("9007199254740993")}}

// called is a server with flows that the snippets call.
type called struct {
	*server
	address, key, manage        string
	plain, filed, failing, hook string
	talking                     string // address of a server that only says what a model would
}

func newCalled(t *testing.T) *called {
	s := newServer(t)
	in := func(name, kind string) object {
		return node("in_"+strings.Trim(name, "_"), "input", object{"name": name, "type": kind})
	}
	c := &called{server: s, address: s.base(), key: s.key(), manage: s.manager()}
	talking := httptest.NewServer(http.HandlerFunc(talk))
	t.Cleanup(talking.Close)
	c.talking = talking.URL
	c.plain = s.publish(documentOf(`Echo "it" */ ?> \u000a`, []object{
		in("who", "text"), in("a-b", "text"), in("_x", "number"), in("class", "json"), in("__proto__", "boolean"), in("yield", "list"), output("text-1"), output("json"),
	}, "in_a-b.value > out_text-1.value", "in_class.value > out_json.value"))
	c.filed = s.publish(documentOf("Take a file", []object{
		in("who", "text"), in("a-b", "text"), in("photo", "file"), in("beyond", "json"), output("text-1"), output("json"),
	}, "in_a-b.value > out_text-1.value", "in_photo.value > out_json.value"))
	c.failing = s.publish(documentOf("Fail", []object{
		in("who", "text"), node("fail", "condition", object{"expression": "int(value) > 0"}), output("text-1"),
	}, "in_who.value > fail.value", "fail.true > out_text-1.value"))
	c.hook = s.publish(documentOf("Call back", []object{
		input("port"), input("text"), output("text"), node("hook", "webhook", object{"url": "http://127.0.0.1:{{port}}/hook", "secret": nodeSecret}),
	}, "port.value > hook.port", "text.value > out_text.value"))
	return c
}

// talk is the stream of a run whose model emitted two words and failed. It is sent in pieces
// that end where a naive reader would fail: within an event, and within a character.
func talk(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // unread, it would have the connection reset
	w.Header().Set("Content-Type", "text/event-stream")
	events := ": ping\n\nevent: delta\ndata: {\"path\":\"write\",\"text\":\"Hello \"}\n\n" +
		"event: delta\ndata: {\"path\":\"write\",\"text\":\"wörld\\n😀\"}\n\n" +
		"id: 3\nevent: output\ndata: {\"name\":\"answer\",\"value\":\"a\u2028b\"}\n\n" +
		"id: 4\nevent: run\ndata: {\"status\":\"failed\",\"error\":{\"code\":\"provider_unavailable\"}}\n\n"
	for i := 0; i < len(events); i += 7 {
		_, _ = w.Write([]byte(events[i:min(i+7, len(events))])) // a reader that has gone is its test's to notice
		_ = http.NewResponseController(w).Flush()
	}
}

// as returns a client that reports failures to a subtest.
func (c *called) as(t *testing.T, key string) *client { return &client{t, c.base, key} }

// attempts are the snippets of each language, by the name of their directory.
func (c *called) attempts(id string) map[string]attempt {
	value := func(name string, v any) snippets.Input { return snippets.Input{Name: name, Value: v} }
	call := func(flowID string, inputs ...snippets.Input) snippets.Call {
		return snippets.Call{BaseURL: c.address, FlowID: flowID, FlowName: `Echo "it" */ ?> \u000a`, Key: c.key, Inputs: inputs, Outputs: []document.Output{{Output: flowcontract.Output{Name: "text-1"}, Schema: map[string]any{"type": "string"}}, {Output: flowcontract.Output{Name: "json"}}}, Webhook: snippets.Webhook{Secret: nodeSecret}}
	}
	plain := func(mode string) snippets.Call {
		return call(c.plain, value("who", id+"-"+mode), value("a-b", awkward), value("_x", json.Number("-0.25")), value("class", nested), value("__proto__", true), value("yield", []any{"x", nil, json.Number("2")}))
	}
	refused := plain("refused")
	refused.Key = ""
	return map[string]attempt{
		"start":  {snippets.ModeStart, plain("start")},
		"stream": {snippets.ModeStream, plain("stream")},
		"wait": {snippets.ModeWait, call(c.filed, value("who", id+"-wait"), value("a-b", awkward), value("beyond", beyond),
			snippets.Input{Name: "photo", Value: "it's a photo.txt", File: true})},
		"refused": {snippets.ModeWait, refused},
		"deltas":  {snippets.ModeStream, snippets.Call{BaseURL: c.talking, FlowID: "flow_1"}},
		"failed":  {snippets.ModeStart, call(c.failing, value("who", "no number"))},
		"webhook": {snippets.ModeWebhook, call(c.hook)},
	}
}

type attempt struct {
	mode snippets.Mode
	call snippets.Call
}

// TestSnippets runs every snippet with values and names that would break naive quoting.
func TestSnippets(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	if raceEnabled {
		t.Skip("the race detector does not look into snippets, and what they ask of the server is tested with it elsewhere")
	}
	c := newCalled(t)
	t.Run("all", func(t *testing.T) {
		for _, l := range languages() {
			t.Run(l.id, func(t *testing.T) {
				t.Parallel()
				for _, tool := range l.tools {
					_, err := exec.LookPath(tool)
					need.Tool(t, tool+" is not installed", err == nil)
				}
				l.test(t, c)
			})
		}
	})
}

func (l *language) test(t *testing.T, c *called) {
	dir, port := t.TempDir(), freePort(t)
	l.write(t, c, dir, port)
	if err := os.WriteFile(filepath.Join(dir, "wait", "it's a photo.txt"), []byte("a photo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if l.make != nil {
		l.make(t, dir)
	}
	l.checkEnded(t, c, dir)
	l.checkRefusals(t, dir)
	l.checkDeltas(t, dir)
	if l.id == "curl" {
		l.checkByHand(t, c, dir)
		return
	}
	l.checkReceiver(t, c, dir, port)
}

// write saves each snippet in a directory of its own.
func (l *language) write(t *testing.T, c *called, dir string, port int) (paths []string) {
	t.Helper()
	for name, a := range c.attempts(l.id) {
		code, err := snippets.Render(l.id, a.mode, a.call)
		if err != nil {
			t.Fatal(err)
		}
		if a.mode == snippets.ModeWebhook {
			code = strings.ReplaceAll(code, "8000", strconv.Itoa(port)) // as a reader would
		}
		path := filepath.Join(dir, name, l.file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(code), 0o600)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// TestSnippetsInCSharp parses the snippets with a third-party grammar. They are not run,
// because the tests cannot install .NET.
func TestSnippetsInCSharp(t *testing.T) {
	t.Parallel()
	modules := npm.Install(t, filepath.Join("testdata", "snippets"))
	c := &called{address: "http://127.0.0.1:8080", key: "slu_key", plain: "flow_1", filed: "flow_2", failing: "flow_3", hook: "flow_4"}
	dir := t.TempDir()
	files := (&language{id: "csharp", file: "Program.cs"}).write(t, c, dir, 8000)
	broken := filepath.Join(dir, "broken.cs")
	if err := os.WriteFile(broken, []byte("var x = ;"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", append([]string{filepath.Join("testdata", "snippets", "csharp.mjs"), modules, broken}, files...)...)
	r := runCommand(t, cmd)
	faults := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || len(faults) != 1 || !strings.HasPrefix(faults[0], broken+":1:") {
		t.Errorf("exit code %d, faults beside the one that was made:\n%s\n%s", r.code, r.out, r.errs)
	}
}

// in prepares a snippet to run where it lies, in an environment that knows no
// secret.
func in(dir string, cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = dir, environment("LC_ALL=C.UTF-8")
	return cmd
}

func (l *language) do(t *testing.T, dir, name string) result {
	at := filepath.Join(dir, name)
	return runCommand(t, in(at, l.run(at)))
}

// checkEnded checks the inputs of the run, and that its outputs were printed.
func (l *language) checkEnded(t *testing.T, c *called, dir string) {
	for _, name := range []string{"start", "wait", "stream"} {
		a := c.attempts(l.id)[name]
		r := l.do(t, dir, name)
		if r.code != 0 {
			t.Errorf("%s: exit code %d\n%s\n%s", name, r.code, r.out, r.errs)
			continue
		}
		inputs := c.inputsOf(t, a.call.FlowID, l.id+"-"+name)
		for _, in := range a.call.Inputs {
			got := inputs[in.Name]
			if file, ok := got.(object); ok && in.File {
				got = file["name"]
			}
			if !same(got, in.Value) {
				t.Errorf("%s: the input %s was\n%q, wanted\n%q", name, in.Name, fmt.Sprint(got), fmt.Sprint(in.Value))
			}
		}
		outputs := l.printed(t, name, r.out)
		if !same(outputs["text-1"], awkward) {
			t.Errorf("%s: printed %q in\n%s", name, outputs["text-1"], r.out)
		}
		if name != "wait" && !same(outputs["json"], nested) {
			t.Errorf("%s: printed %v", name, outputs["json"])
		}
	}
}

// inputsOf returns the inputs of the run that was started under a name.
func (c *called) inputsOf(t *testing.T, flowID, who string) object {
	t.Helper()
	var list struct{ Runs []run }
	decodeExact(t, c.as(t, c.key).want(200, "GET", "/v1/flow/"+flowID+"/runs?limit=100", nil).body, &list)
	for _, r := range list.Runs {
		if r.Inputs["who"] == who {
			return r.Inputs
		}
	}
	t.Fatalf("no run was started by %s", who)
	return nil
}

// printed parses the outputs that a snippet printed.
func (l *language) printed(t *testing.T, name, out string) object {
	t.Helper()
	if name == "stream" {
		return streamed(t, out)
	}
	var got object
	decodeExact(t, []byte(out), &got)
	if outputs, isRun := got["outputs"].(object); isRun {
		return outputs
	}
	return got
}

// streamed parses lines such as "answer: …", or raw events if the language reads no JSON.
func streamed(t *testing.T, out string) object {
	outputs := object{}
	for line := range strings.SplitSeq(out, "\n") {
		name, data, _ := strings.Cut(line, ": ")
		var value any
		if json.Unmarshal([]byte(data), &value) != nil {
			continue
		}
		if event, ok := value.(object); ok && event["name"] != nil && (name == "data" || name == "output") && event["value"] != nil {
			name, value = event["name"].(string), event["value"]
		}
		outputs[name] = value
	}
	return outputs
}

func decodeExact(t *testing.T, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, data)
	}
}

// same compares JSON values; numbers by value.
func same(a, b any) bool { return reflect.DeepEqual(exact(a), exact(b)) }

func exact(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err
	}
	return exactly(v)
}

func exactly(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, _ := new(big.Rat).SetString(v.String())
		return "number " + r.RatString()
	case []any:
		for i := range v {
			v[i] = exactly(v[i])
		}
	case object:
		for name := range v {
			v[name] = exactly(v[name])
		}
	}
	return v
}

// checkRefusals checks that a program exits with an error that explains why, when the server
// rejects its request and when its run fails.
func (l *language) checkRefusals(t *testing.T, dir string) {
	for name, why := range map[string]string{"refused": "key_invalid", "failed": "expression_failed"} {
		if r := l.do(t, dir, name); r.code == 0 || !strings.Contains(r.out+r.errs, why) {
			t.Errorf("%s: exit code %d without the word %s\n%s\n%s", name, r.code, why, r.out, r.errs)
		}
	}
}

// checkDeltas checks that text is printed as it arrives, and that a failed run is an error. A
// program without JSON prints the events.
func (l *language) checkDeltas(t *testing.T, dir string) {
	r := l.do(t, dir, "deltas")
	if l.id == "curl" || l.id == "java" {
		if !strings.Contains(r.out, `"wörld\n😀"`) || !strings.Contains(r.out, "provider_unavailable") {
			t.Errorf("deltas: printed %s\n%s", r.out, r.errs)
		}
		return
	}
	if r.code == 0 || !strings.Contains(r.out, "Hello wörld\n😀") || !strings.Contains(r.out, "answer: \"a") || !strings.Contains(r.errs, "provider_unavailable") {
		t.Errorf("deltas: exit code %d, printed %s\n%s", r.code, r.out, r.errs)
	}
}
