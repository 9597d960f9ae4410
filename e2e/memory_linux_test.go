package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"sluice/e2e/need"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// memory returns a field of /proc/PID/status of the process in bytes, such as VmHWM.
func (p *process) memory(t testing.TB, field string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), field+":")
	kib, err := strconv.ParseInt(strings.Fields(rest + " ?")[0], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", field, err)
	}
	return kib << 10
}

// TestLargeBodies_share_memory sends several large bodies at once to every route that reads them
// completely. Whatever their number and density, they may add little more memory than two of them
// have bytes.
func TestLargeBodies_share_memory(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("the race detector needs memory of its own")
	}
	s := newServer(t, "SLUICE_MEMORY=512MiB")
	s.publish(documentOf("Echo", []object{input("n"), output("n")}, "n.value > out_n.value"))
	key := s.key("--scope", "run,edit")
	const size, callers = 30 << 20, 8
	list := func(item string) string { return "[" + strings.Repeat(item+",", size/(len(item)+1)) + "1]" }
	long := list(`"` + strings.Repeat("a long text ", 100) + `"`) // decoded
	dense := list(`"a text of about thirty characters"`)          // takes too much
	for _, r := range []struct {
		path, begin, list, end string
		status                 int
	}{
		{"/v1/chat/completions", `{"model":"echo","messages":`, long, `}`, 400},
		{"/v1/chat/completions", `{"messages":`, dense, `,"model":"echo"}`, 413},
		{"/v1/chat/completions", `{"a":"`, strings.Repeat("x", size), `","model":"none"}`, 404},
		{"/v1/apply", `{"documents":`, long, `}`, 422},
		{"/v1/flow/import", `{"documents":`, long, `}`, 422},
		{"/v1/flow/import", `{"documents":`, dense, `}`, 413},
	} {
		body := []byte(r.begin + r.list + r.end)
		s.forgetPeak(t)
		before := s.process().memory(t, "VmRSS")
		var running sync.WaitGroup
		for range callers {
			running.Go(func() {
				req, _ := http.NewRequest("POST", s.base()+r.path, bytes.NewReader(body))
				req.Header.Set("Authorization", "Bearer "+key)
				req.Header.Set("Content-Type", "application/json")
				resp, err := plain.Do(req)
				if err != nil {
					t.Errorf("%s: %v", r.path, err)
					return
				}
				defer resp.Body.Close()
				if resp.StatusCode != r.status && (resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "") {
					t.Errorf("%s: status %d, want %d, or 503 with Retry-After", r.path, resp.StatusCode, r.status)
				}
			})
		}
		running.Wait()
		if added := s.process().memory(t, "VmHWM") - before; added > 64<<20 {
			t.Errorf("%d bodies of %d MiB to %s, %.20s…: %d MiB more", callers, len(body)>>20, r.path, r.list, added>>20)
		}
	}
}

// forgetPeak makes VmHWM, the most memory that the process had, begin again at what it has now.
func (s *server) forgetPeak(t *testing.T) {
	t.Helper()
	err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.process().cmd.Process.Pid), []byte("5"), 0)
	need.Tool(t, fmt.Sprintf("the kernel does not reset the peak of a process: %v", err), err == nil)
}
