package e2e

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// devSession is a running "sluice dev flows".
type devSession struct {
	*remoteShell
	cmd       *exec.Cmd
	out, errs *processOutput
	c         *client
}

// startDev starts "sluice dev" on the directory flows and waits for its first look.
func startDev(t *testing.T, r *remoteShell, c *client) *devSession {
	t.Helper()
	d := &devSession{remoteShell: r, cmd: exec.Command(sluice, "dev", "flows"), out: newProcessOutput(), errs: newProcessOutput(), c: c}
	d.cmd.Dir, d.cmd.Env, d.cmd.Stdout, d.cmd.Stderr = r.dir, r.env, d.out, d.errs
	dieWithTests(d.cmd)
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.stop)
	d.waitFor(d.out, "Watching flows")
	return d
}

// stop interrupts the command, which must end without an error.
func (d *devSession) stop() {
	if d.cmd.ProcessState != nil {
		return // stopped before
	}
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	if err := d.cmd.Wait(); err != nil {
		d.t.Errorf("sluice dev ended with %v", err)
	}
	if d.t.Failed() {
		d.t.Logf("sluice dev printed\n%s%s", d.out, d.errs)
	}
}

func (d *devSession) waitFor(out *processOutput, text string) {
	d.t.Helper()
	waitUntil(d.t, "sluice dev prints "+text, func() bool { return strings.Contains(out.String(), text) })
}

// draft returns the draft of a flow and its tag.
func (d *devSession) draft(flow string) (text, tag string) {
	d.t.Helper()
	a := d.c.do("GET", "/v1/flow/"+flow+"/document?version=draft", nil)
	return string(a.body), a.header.Get("ETag")
}

// edit changes a draft as the browser does, in the edit log that open builders read.
func (d *devSession) edit(flow, old, now string) {
	d.t.Helper()
	text, tag := d.draft(flow)
	if !strings.Contains(text, old) {
		d.t.Fatalf("the draft does not have %q:\n%s", old, text)
	}
	d.c.want(200, "PUT", "/v1/flow/"+flow, json.RawMessage(strings.Replace(text, old, now, 1)), "If-Match: "+tag)
}

// TestDev edits flows in files and on the server while "sluice dev" runs.
func TestDev(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	r := remoteTo(t, s, "edit,read")
	r.write("flows/greet.flow.json", greet("Greet", "Hello", "name"))
	d := startDev(t, r, s.client(s.key("--scope", "edit,read")))
	drafted := func(flow, text string) {
		t.Helper()
		waitUntil(t, "the draft of "+flow+" has "+text, func() bool { now, _ := d.draft(flow); return strings.Contains(now, text) })
	}
	filed := func(name, text string) {
		t.Helper()
		path := filepath.Join(r.dir, name)
		waitUntil(t, name+" has "+text, func() bool { return strings.Contains(fileText(path), text) })
	}
	drafted("greet", "Hello {{who}}")

	// Each side follows the other.
	d.write("flows/greet.flow.json", greet("Greet", "Hi", "name"))
	drafted("greet", "Hi {{who}}")
	d.edit("greet", "Hi {{who}}", "Good day {{who}}")
	filed("flows/greet.flow.json", "Good day {{who}}")
	d.write("flows/greet.flow.json", strings.Replace(d.read("flows/greet.flow.json"), "Good day", "Good night", 1))
	drafted("greet", "Good night {{who}}")

	// New flows of either side appear on the other.
	d.write("flows/part.flow.json", greet("Part", "Goodbye", "name"))
	drafted("part", "Goodbye")
	d.c.want(201, "POST", "/v1/flow", json.RawMessage(greet("Drawn", "Drawn for", "name")))
	filed("flows/drawn.flow.json", "Drawn for")

	// A mistake is printed with its line, and the draft stays.
	d.write("flows/part.flow.json", strings.Replace(greet("Part", "Bye", "name"), `"kind": "template"`, `"kind": "tempalte"`, 1))
	d.waitFor(d.errs, "flows/part.flow.json:4: ")
	if text, _ := d.draft("part"); !strings.Contains(text, "Goodbye") {
		t.Errorf("the draft is\n%s", text)
	}
	d.write("flows/part.flow.json", greet("Part", "Bye", "name"))
	drafted("part", "Bye {{who}}")

	// Both sides change at once: nothing is lost.
	_ = d.cmd.Process.Signal(syscall.SIGSTOP)
	d.edit("greet", "Good night", "From the browser:")
	mine := strings.Replace(d.read("flows/greet.flow.json"), "Good night", "From the file:", 1)
	d.write("flows/greet.flow.json", mine)
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	d.waitFor(d.errs, "Conflict: flows/greet.flow.json")
	if kept := d.read("flows/greet.flow.conflict.json"); !strings.Contains(kept, "From the browser:") || d.read("flows/greet.flow.json") != mine {
		t.Errorf("the conflict file is\n%s\nand the file\n%s", kept, d.read("flows/greet.flow.json"))
	}
	d.write("flows/part.flow.json", greet("Part", "Farewell", "name")) // other flows are not held up
	drafted("part", "Farewell {{who}}")
	if text, _ := d.draft("greet"); !strings.Contains(text, "From the browser:") {
		t.Errorf("the draft is\n%s", text)
	}
	d.write("flows/greet.flow.json", strings.Replace(mine, "From the file:", "From both:", 1))
	d.remove("flows/greet.flow.conflict.json")
	drafted("greet", "From both: {{who}}")

	// The next apply finds no foreign edits.
	if out := d.must("flow", "apply", "flows"); strings.Count(out, "unchanged") != 3 {
		t.Errorf("apply printed\n%s", out)
	}
}

// TestDevStart starts "sluice dev" with a file and a draft that were both edited before.
func TestDevStart(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	r := remoteTo(t, s, "edit,read")
	r.write("flows/greet.flow.json", greet("Greet", "Hello", "name"))
	r.must("flow", "apply", "flows")
	d := &devSession{remoteShell: r, c: s.client(s.key("--scope", "edit,read"))}
	d.edit("greet", "Hello", "From the browser:")
	r.write("flows/greet.flow.json", greet("Greet", "From the file:", "name"))
	d = startDev(t, r, d.c)
	d.waitFor(d.errs, "Conflict: flows/greet.flow.json")
	if text, _ := d.draft("greet"); !strings.Contains(text, "From the browser:") || !strings.Contains(d.read("flows/greet.flow.json"), "From the file:") {
		t.Errorf("an edit was lost: %s", text)
	}
	d.remove("flows/greet.flow.conflict.json")
	waitUntil(t, "the draft is that of the file", func() bool { text, _ := d.draft("greet"); return strings.Contains(text, "From the file:") })
}

// TestDevWithEditor edits a flow in an open editor and in its file while "sluice dev" runs.
func TestDevWithEditor(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	site := newDashboard(t)
	r := remoteTo(t, site.server, "edit,read")
	r.write("flows/greet.flow.json", greet("Greet", "Hello", "name"))
	d := startDev(t, r, site.client(site.key("--scope", "edit,read")))
	tab := site.signIn(t, ownerEmail, "/flows/"+site.flowNamed("Greet"))
	tab.There("flow-canvas[ready]")
	draw := func(text string) {
		t.Helper()
		tab.Eval(`document.querySelector("flow-canvas").commit("Edit", [{op: "set", node: "words", field: "template", value: ` + quoted(text) + `}])`)
		tab.Until(`document.querySelector("flow-canvas").sync.waiting === 0`)
	}
	shown := func(text string) {
		t.Helper()
		tab.Until(`document.querySelector("flow-canvas").document().nodes.find((n) => n.id === "words").config.template === ` + quoted(text))
	}
	file := "flows/greet.flow.json"

	draw("Drawn for {{who}}")
	waitUntil(t, "the file has the edit", func() bool { return strings.Contains(fileText(filepath.Join(r.dir, file)), "Drawn for {{who}}") })
	d.write(file, strings.Replace(d.read(file), "Drawn for", "Typed for", 1))
	shown("Typed for {{who}}")

	_ = d.cmd.Process.Signal(syscall.SIGSTOP)
	draw("Drawn again for {{who}}")
	mine := strings.Replace(d.read(file), "Typed for", "Typed again for", 1)
	d.write(file, mine)
	_ = d.cmd.Process.Signal(syscall.SIGCONT)
	d.waitFor(d.errs, "Conflict: "+file)
	shown("Drawn again for {{who}}")
	if kept := d.read("flows/greet.flow.conflict.json"); !strings.Contains(kept, "Drawn again for") || d.read(file) != mine {
		t.Errorf("an edit was lost: the file is\n%s\nand the conflict file\n%s", d.read(file), kept)
	}
	d.remove("flows/greet.flow.conflict.json")
	shown("Typed again for {{who}}")

	// A draft that cannot run yet, as while somebody draws, is synchronized after a restart too.
	filed := func(text string) {
		t.Helper()
		waitUntil(t, "the file has "+text, func() bool { return strings.Contains(fileText(filepath.Join(r.dir, file)), text) })
	}
	draw("Half drawn for {{who}} and {{unconnected}}")
	filed("Half drawn for")
	d.stop()
	startDev(t, r, d.c)
	draw("Drawn at last for {{who}}")
	filed("Drawn at last for")
}

// quoted returns a text as a JavaScript literal.
func quoted(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
