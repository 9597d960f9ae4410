package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// TestFollow_prints_new_entries_until_it_is_interrupted reads the audit log as a log shipper does: from the entry after the last one
// that it has, then each new entry once, in order, and an interrupt ends it without an error.
func TestFollow_prints_new_entries_until_it_is_interrupted(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.key()
	s.key()
	cmd := exec.Command(s.program, "audit", "export", "--follow", "--after", "1")
	cmd.Dir, cmd.Env, cmd.Stderr = s.cwd, environment(s.env...), os.Stderr
	dieWithTests(cmd)
	out := must1(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	last := 1
	until := func(action string) {
		t.Helper()
		for lines.Scan() {
			var e struct {
				Number int
				Action string
			}
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil || e.Number != last+1 {
				t.Fatalf("after entry %d came %s, %v", last, lines.Bytes(), err)
			}
			last = e.Number
			if e.Action == action {
				return
			}
		}
		t.Fatalf("the command ended before an entry %s", action)
	}
	until("key.create")
	for range 3 { // each arrives while the command waits for it
		s.key()
		until("key.create")
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		t.Errorf("after the interrupt came %s", lines.Bytes())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the interrupted command ended with %v", err)
	}
}
