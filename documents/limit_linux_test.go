package documents

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/sandbox"
)

// TestLimits starts a reader, which waits for its content, and looks at
// it from outside. Limits that a process reports about itself prove nothing; what
// /proc shows is what the kernel enforces. The open standard input proves that the
// limits take effect before the document is parsed.
func TestLimits(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), sandbox.Binary())
	cmd.Env = sandbox.Environment(childRole)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, `{"Request":{"CPU":7}}`+"\ntext"); err != nil {
		t.Fatal(err)
	}
	about := func(file string) string {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, file)) // what is missing shows below
		return strings.Join(strings.Fields(string(data)), " ")
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(about("limits"), "Max cpu time 7 7 seconds"); {
		if time.Now().After(end) {
			t.Fatalf("no limit of computing: %s", about("limits"))
		}
	}
	has(t, about("limits"), fmt.Sprintf("Max data size %d %d bytes", childMemory*sandbox.MemoryFactor, childMemory*sandbox.MemoryFactor), "Max core file size 0 0")
	has(t, about("status"), "NoNewPrivs: 1")
	same(t, "oom_score_adj", about("oom_score_adj"), "1000")
	_ = in.Close()
	answer, err := io.ReadAll(out)
	same(t, "reading", []any{err, cmd.Wait()}, []any{nil, nil})
	has(t, string(answer), `"Format":"text"`, "}\ntext")
}
