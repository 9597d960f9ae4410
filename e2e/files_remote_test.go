package e2e

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// fileServer serves a picture, and counts the requests for it. Requests for /hold
// wait until release is called.
func fileServer(t *testing.T, picture []byte) (s *httptest.Server, fetched *atomic.Int64, held <-chan struct{}, release func()) {
	fetched = &atomic.Int64{}
	arrived, done := make(chan struct{}, 10), make(chan struct{})
	var once atomic.Bool
	release = func() {
		if once.CompareAndSwap(false, true) {
			close(done)
		}
	}
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hold" {
			arrived <- struct{}{}
			select {
			case <-done:
			case <-r.Context().Done():
			}
			return
		}
		fetched.Add(1)
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(picture)
	}))
	t.Cleanup(func() { release(); s.Close() })
	return s, fetched, arrived, release
}

// TestFilesByURL runs a flow with the URL of a file through the API and the command
// line, kills the server while the run works, and reruns it. The file is fetched
// once.
func TestFilesByURL(t *testing.T) {
	t.Parallel()
	picture := append([]byte("\x89PNG\r\n\x1a\n"), content(2, 1000)...)
	upstream, fetched, held, release := fileServer(t, picture)
	s := newServer(t)
	id := s.publish(documentOf("File it", []object{
		node("photo", "input", object{"name": "photo", "type": "file", "accept": []string{"image/*"}}),
		node("wait", "http_request", object{"url": upstream.URL + "/hold?name={{name}}"}), node("read", "file", object{}),
		output("picture"), output("status"),
	}, "photo.value > read.file", "read.file > out_picture.value", "read.name > wait.name", "wait.status > out_status.value"))
	c := s.client(s.manager())
	address := upstream.URL + "/cat.png?signature=very-private"
	r := c.start(id, object{"photo": address})
	<-held
	s.kill()
	s.start()
	<-held
	release()
	if r = c.await(r); r.Status != "succeeded" || r.Inputs["photo"] != address || fetched.Load() != 1 {
		t.Fatalf("the run %s with %v after %d requests: %+v", r.Status, r.Inputs, fetched.Load(), r.Error)
	}
	s.wantFile("the link of the output", r.Outputs["picture"].(object)["url"], picture)
	again := c.await(c.do("POST", r.path()+"/rerun", object{}).run(t))
	if again.Status != "succeeded" || fetched.Load() != 1 {
		t.Errorf("the rerun %s after %d requests: %+v", again.Status, fetched.Load(), again.Error)
	}
	c.want(204, "DELETE", r.path(), nil)
	s.wantFile("the file of the rerun", again.Outputs["picture"].(object)["url"], picture)
	if a := c.want(200, "GET", again.path()+"/steps", nil); strings.Contains(string(a.body), "very-private") {
		t.Errorf("the steps show the query: %s", a.body)
	}
	for _, path := range []string{"/v1/runs", "/v1/flow/" + id + "/runs"} {
		if a := c.want(200, "GET", path, nil); strings.Contains(string(a.body), "very-private") || !strings.Contains(string(a.body), "/cat.png?…") {
			t.Errorf("%s shows the query: %s", path, a.body)
		}
	}
	call := object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": "file_it", "arguments": object{"photo": address}}}
	if a := c.want(200, "POST", "/mcp", call, "Accept: application/json, text/event-stream"); !strings.Contains(string(a.body), `cat.png`) || fetched.Load() != 2 {
		t.Errorf("the tool answered %s after %d requests", a.body, fetched.Load())
	}
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)
	r = c.succeed(id, object{"photo": object{"url": data, "name": "dog.png"}})
	if picked := r.Outputs["picture"].(object); picked["name"] != "dog.png" || picked["size"] != float64(len(picture)) {
		t.Errorf("a data URL: %v", picked)
	}
	out := filepath.Join(t.TempDir(), "out")
	s.must("flow", "run", id, "--input", "photo="+upstream.URL+"/cat.png", "--output-dir", out)
	if saved, err := os.ReadFile(filepath.Join(out, "cat.png")); err != nil || string(saved) != string(picture) {
		t.Errorf("the command saved %d bytes: %v", len(saved), err)
	}
	for _, address := range []string{"http://10.0.0.1/cat.png", "http://169.254.169.254/cat.png", "http://user:secret@example.com/cat.png", "ftp://example.com/cat.png", "http://0x7f.1/", "data:text/plain;base64,aGVsbG8="} {
		if a := c.rejected(422, "input_invalid", "POST", "/v1/flow/"+id+"/run", object{"photo": address}); !strings.Contains(string(a.body), `"/photo"`) {
			t.Errorf("%s: %s", address, a.body)
		}
	}
	p := s.process()
	s.stop()
	if log := p.out.String() + p.errs.String(); strings.Contains(log, "very-private") {
		t.Error("the log has the query of the URL")
	}
}

// TestFilesByURL_rejects_large_files checks that SLUICE_MAX_FETCH bounds a fetched file, and that
// the error names the input.
func TestFilesByURL_rejects_large_files(t *testing.T) {
	t.Parallel()
	upstream, _, _, _ := fileServer(t, content(3, 300<<10))
	s := newServer(t, "SLUICE_MAX_FETCH=100KiB")
	id := s.publish(filing())
	c := s.client(s.manager())
	r := c.await(c.start(id, object{"photo": upstream.URL + "/a.bin"}))
	if r.Status != "failed" || r.Error.Code != "input_invalid" || r.Error.Node != "photo" || !strings.Contains(r.Error.Message, "100 KiB") || !strings.Contains(r.Error.Message, `"photo"`) {
		t.Errorf("the run %s: %+v", r.Status, r.Error)
	}
}
