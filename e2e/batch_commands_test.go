package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestBatch_commands starts a batch of a file, follows it, writes its results, and repeats the row that failed.
func TestBatch_commands(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(documentOf("Divide", []object{input("n"), node("check", "expression", object{"expression": "12 / int(value)"}), output("got")}, "n.value > check.value", "check.value > out_got.value"))
	table := filepath.Join(t.TempDir(), "numbers.csv")
	if err := os.WriteFile(table, []byte("Number;note\n3;=1+1\n0;b\n4;c\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	started := s.must("batch", "start", id, table, "--column", "n=Number", "--watch")
	batch := regexp.MustCompile(`run_[0-9a-z]+`).FindString(started)
	if batch == "" || !strings.Contains(started, "3") {
		t.Fatalf("start: %s", started)
	}
	out := filepath.Join(t.TempDir(), "results.csv")
	s.must("batch", "results", id, batch, "-o", out)
	results, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(results)), "\n")
	if len(lines) != 4 || lines[0] != "Number,note,got,_status,_code,_error,_run_id,_usd" || !strings.HasPrefix(lines[1], "3,'=1+1,4,succeeded,") || !strings.HasPrefix(lines[2], "0,b,,failed,") || !strings.HasPrefix(lines[3], "4,c,3,succeeded,") {
		t.Errorf("results:\n%s", results)
	}
	if failed := s.must("batch", "results", id, batch, "--failed", "--format", "jsonl"); !strings.Contains(failed, `"Number":"0"`) || strings.Count(failed, "_run_id") != 1 {
		t.Errorf("failed rows: %s", failed)
	}
	again := regexp.MustCompile(`run_[0-9a-z]+`).FindString(s.must("batch", "retry", id, batch))
	if again == "" || again == batch {
		t.Fatalf("retry started %q", again)
	}
	s.must("batch", "watch", id, again)
	if list := s.must("batch", "list", id); !strings.Contains(list, batch) || !strings.Contains(list, again) {
		t.Errorf("list: %s", list)
	}
}
