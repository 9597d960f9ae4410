package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// computing returns a flow of steps that compute for minutes of CPU time in the server or its child
// processes, all at the same time, if n is computingText.
func computing() []byte {
	nodes := []object{input("n"), node("code", "code", object{"code": "export default () => { for (;;); }", "inputs": []any{"n"}}), output("result")}
	edges := []string{"n.value > code.n", "code.result > out_result.value"}
	for i := range 10 {
		id, name := fmt.Sprint("answer", i), fmt.Sprint("score", i)
		nodes = append(nodes, node(id, "find_answer", object{}), output(name))
		edges = append(edges, "n.value > "+id+".text", "n.value > "+id+".question", id+".score > out_"+name+".value")
	}
	return documentOf("Computing", nodes, edges...)
}

// computingText is a text of the size that the built-in model accepts at most. Each character is a
// token.
var computingText = strings.Repeat(strings.Repeat("x", 60)+"\nb ", 3000)

// startComputing starts a run of computing and waits until its steps run.
func startComputing(t *testing.T, c *client, flowID string) *run {
	t.Helper()
	r := c.start(flowID, object{"n": computingText})
	waitUntil(t, "the steps compute", func() bool {
		running := 0
		for _, st := range c.steps(r) {
			if st.State == "running" {
				running++
			}
		}
		return running == 11
	})
	return r
}

// TestCancel_ends_computing checks that a cancel ends steps that compute. They would take minutes,
// so nothing else can end the run before any of them has succeeded.
func TestCancel_ends_computing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key())
	r := startComputing(t, c, s.publish(computing()))
	c.want(200, "POST", r.path()+"/cancel", nil)
	if now := c.await(r); now.Status != "canceled" {
		t.Errorf("the canceled run %s", now.Status)
	}
	for path, st := range c.steps(r) {
		if (path == "code" || strings.HasPrefix(path, "answer")) && st.State != "canceled" {
			t.Errorf("the step %s is %s", path, st.State)
		}
	}
}

// TestShutdown_ends_computing checks that the server ends without waiting for steps that compute, which it would
// do for 25 s, and that the next process repeats them.
func TestShutdown_ends_computing(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(s.key())
	r := startComputing(t, c, s.publish(computing()))
	startedAt := time.Now()
	if code := s.stop(); code != 0 || time.Since(startedAt) > 20*time.Second {
		t.Fatalf("the end took %s with exit code %d", time.Since(startedAt), code)
	}
	s.start()
	waitUntil(t, "the steps compute again", func() bool {
		st := c.steps(r)["code"]
		return st.State == "running" && st.Attempts > 1
	})
	if now := c.await(c.want(200, "POST", r.path()+"/cancel", nil).run(t)); now.Status != "canceled" {
		t.Errorf("the canceled run %s", now.Status)
	}
}
