package javascript

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/sandbox"
)

// TestConfined starts a child, which waits for a program, and looks at it from outside: what
// /proc shows is what the kernel enforces. Programs have no way to reach files or the
// network in the first place; this is for a fault in the engine.
func TestConfined(t *testing.T) {
	t.Parallel()
	c, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	about := func(file string) string {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", c.cmd.Process.Pid, file)) // what is missing shows below
		return strings.Join(strings.Fields(string(data)), " ")
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(about("status"), "NoNewPrivs: 1") || sandbox.MemoryFactor == 1 && !strings.Contains(about("status"), "Seccomp: 2"); {
		if time.Now().After(end) {
			t.Fatalf("not confined: %s", about("status"))
		}
	}
	if limit := fmt.Sprintf("Max data size %d %[1]d bytes", childMemory*sandbox.MemoryFactor); !strings.Contains(about("limits"), limit) {
		t.Errorf("want %s in %s", limit, about("limits"))
	}
	want := sandbox.Mark + "=code\x00GOMAXPROCS=2\x00TZ=UTC\x00"
	if sandbox.MemoryFactor > 1 { // with the race detector
		want += "GORACE=atexit_sleep_ms=0\x00"
	}
	if got := about("environ"); got != want {
		t.Errorf("environment %q, want %q", got, want)
	}
}
