package mcpclient_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/e2e/npm"
	"sluice/flow"
	"sluice/mcpclient"
)

// TestSession_with_the_official_server_for_JavaScript lists and calls tools, and loses a session.
func TestSession_with_the_official_server_for_JavaScript(t *testing.T) {
	t.Parallel()
	data := filepath.Join("..", "e2e", "testdata", "mcp")
	cmd := exec.Command("node", filepath.Join(data, "server.mjs"), npm.Install(t, data))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server did not start")
	}
	c, server := newClient(t), mcpclient.Server{Name: "javascript", URL: lines.Text(), Secret: "abc"}
	session := open(t, c, server)
	list, err := session.Tools(t.Context())
	if err != nil || len(list) != 3 || list[0].Name != "add" || list[0].Effect != flow.EffectRead || list[1].Effect != flow.EffectWrite || list[0].Output == nil || session.Title() != "javascript" {
		t.Fatalf("%v %v", list, err)
	}
	r, err := session.Call(t.Context(), "add", arguments(`{"a": 1, "b": 2}`), "k")
	if err != nil || r.Text != "3" || string(flow.EncodeJSON(r.Structured)) != `{"sum":3}` {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = session.Call(t.Context(), "key", arguments(`{}`), "run_1:n"); err != nil || r.Text != "run_1:n" {
		t.Errorf("%+v %v", r, err)
	}
	r, err = session.Call(t.Context(), "add", arguments(`{"a": "x"}`), "k") // refused by the server's schema
	if e, _ := err.(*mcpclient.Error); err == nil && !r.Failed || e != nil && e.Class != mcpclient.ClassRefused {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := session.Call(t.Context(), "forget", arguments(`{}`), "k"); err != nil {
		t.Fatal(err)
	}
	if !lines.Scan() || lines.Text() != "gone" {
		t.Fatalf("got %q", lines.Text())
	}
	_, err = session.Call(t.Context(), "key", arguments(`{}`), "k")
	if e := failure(t, err); e.Class != mcpclient.ClassSession || e.Sent || !strings.Contains(e.Message, "session") {
		t.Errorf("%+v", e)
	}
}
