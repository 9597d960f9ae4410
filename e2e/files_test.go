package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filing returns a flow that outputs its input file and sends it to the given webhooks.
func filing(hooks ...object) []byte {
	nodes := []object{node("photo", "input", object{"name": "photo", "type": "file"}), output("picture")}
	return documentOf("File it", append(nodes, hooks...), "photo.value > out_picture.value")
}

// content returns incompressible bytes, the same for a seed.
func content(seed uint64, size int) []byte {
	b := make([]byte, size)
	random := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// upload uploads a file and returns its value from the response.
func (c *client) upload(name string, data []byte) object {
	c.t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write(data)
	}
	if err != nil || form.Close() != nil {
		c.t.Fatalf("write a form: %v", err)
	}
	req, err := http.NewRequest(http.MethodPost, c.base()+"/v1/files", &b)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", form.FormDataContentType())
	resp, err := plain.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	var value object
	if err != nil || resp.StatusCode != http.StatusCreated || json.Unmarshal(answer, &value) != nil {
		c.t.Fatalf("the upload is answered with %d: %s (%v)", resp.StatusCode, answer, err)
	}
	return value
}

// fetch requests a file link without a key. Only the path and the signature matter,
// because the server may have another address since the link was made.
func (s *server) fetch(link any) *response {
	s.t.Helper()
	text, _ := link.(string)
	_, path, ok := strings.Cut(text, "/v1/files/")
	if !ok {
		s.t.Fatalf("%v is no link to a file", link)
	}
	return s.client("").do("GET", "/v1/files/"+path, nil)
}

func (s *server) wantFile(what string, link any, want []byte) {
	s.t.Helper()
	if a := s.fetch(link); a.status != 200 || !bytes.Equal(a.body, want) {
		s.t.Errorf("%s leads to status %d and %d of %d bytes", what, a.status, len(a.body), len(want))
	}
}

// TestFiles uploads a file, runs a flow with it, crashes the server and erases the file.
func TestFiles(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(filing())
	c := s.client(s.manager())
	data := content(1, 5<<20)
	value := c.upload("cat.bin", data)
	r := c.succeed(id, object{"photo": value})
	var result struct{ Picture object }
	if err := json.Unmarshal(c.want(200, "GET", r.path()+"/result", nil).body, &result); err != nil {
		t.Fatal(err)
	}
	if result.Picture["file"] != value["file"] || result.Picture["size"] != float64(len(data)) {
		t.Errorf("the result is %v", result)
	}
	s.wantFile("the link of the result", result.Picture["url"], data)
	part := c.want(206, "GET", "/v1/files/"+value["file"].(string), nil, "Range: bytes=5242870-")
	if !bytes.Equal(part.body, data[5242870:]) {
		t.Errorf("the end of the file has %d bytes", len(part.body))
	}

	s.kill()
	s.start()
	s.wantFile("after a crash, the link", result.Picture["url"], data)
	if again := c.succeed(id, object{"photo": value}); again.Outputs["picture"] == nil {
		t.Error("a run after the crash has no file")
	} else {
		c.want(204, "DELETE", again.path(), nil)
	}
	s.wantFile("while another run has the file, the link", result.Picture["url"], data)
	c.want(204, "DELETE", r.path(), nil)
	if a := s.fetch(result.Picture["url"]); a.status != 404 {
		t.Errorf("the file of an erased run is answered with %d", a.status)
	}
	c.rejected(404, "not_found", "GET", "/v1/files/"+value["file"].(string), nil)
	c.rejected(422, "input_invalid", "POST", "/v1/flow/"+id+"/run", object{"photo": value})
}

// TestFileAccess checks that only readers of its workspace, and the key that uploaded it,
// can read a file.
func TestFileAccess(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	id := s.publish(filing())
	mine, other, reader := s.client(s.key("--scope", "run")), s.client(s.key("--scope", "run")), s.client(s.key("--scope", "read"))
	value := mine.upload("a.txt", []byte("hello"))
	path := "/v1/files/" + value["file"].(string)
	mine.want(200, "GET", path, nil)
	reader.want(200, "GET", path, nil)
	other.rejected(404, "not_found", "GET", path, nil)
	other.rejected(422, "input_invalid", "POST", "/v1/flow/"+id+"/run", object{"photo": value})
	s.client("").rejected(401, "key_missing", "GET", path, nil)
	reader.rejected(403, "scope_missing", "DELETE", path, nil)
	mine.want(204, "DELETE", path, nil)
	mine.rejected(404, "not_found", "DELETE", path, nil)
	if a := s.fetch(value["url"]); a.status != 404 {
		t.Errorf("an erased file is answered with %d", a.status)
	}
}

// TestFilesInWebhooks checks the file links in both kinds of webhook: they work without a
// key, and every attempt has the same body and a valid signature.
func TestFilesInWebhooks(t *testing.T) {
	t.Parallel()
	receiver := newReceiver(t, func(w http.ResponseWriter, path string, nth int) {
		if path == "/node" && nth == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := newServer(t)
	id := s.publish(filing(node("hook", "webhook", object{"url": receiver.URL + "/node", "secret": nodeSecret})))
	c := s.client(s.key())
	data := content(2, 100_000)
	c.succeed(id, object{"photo": c.upload("cat.bin", data), "run_options": object{"webhook": object{"url": receiver.URL + "/run", "secret": runSecret}}})

	attempts := receiver.await(t, "/node", 2)
	if !bytes.Equal(attempts[0].body, attempts[1].body) {
		t.Errorf("the second attempt says something else:\n%s\n%s", attempts[0].body, attempts[1].body)
	}
	verify(t, nodeSecret, attempts[1])
	var outputs struct{ Picture object }
	if err := json.Unmarshal(attempts[1].body, &outputs); err != nil {
		t.Fatal(err)
	}
	s.wantFile("the link of the webhook node", outputs.Picture["url"], data)

	whole := receiver.await(t, "/run", 1)[0]
	verify(t, runSecret, whole)
	var message struct {
		Data struct{ Outputs, Inputs map[string]object }
	}
	if err := json.Unmarshal(whole.body, &message); err != nil {
		t.Fatal(err)
	}
	s.wantFile("the link of the run's webhook", message.Data.Outputs["picture"]["url"], data)
	s.wantFile("the link to its input", message.Data.Inputs["photo"]["url"], data)
}

// TestFileCommands runs a flow on local files, through the server and in a temporary
// database.
func TestFileCommands(t *testing.T) {
	t.Parallel()
	commandsAlone(t)
	s := newServer(t)
	id := s.publish(filing())
	data := content(3, 300_000)
	photo := writeFile(t, "cat.bin", data)
	out := s.must("flow", "run", id, "--input", "photo=@"+photo)
	shown, link, ok := strings.Cut(out, "): ")
	if !ok || shown != "picture: cat.bin (application/octet-stream, 293 KiB" {
		t.Errorf("flow run printed %q", out)
	}
	s.wantFile("the printed link", link, data)

	document, dir := writeFile(t, "file.json", filing()), filepath.Join(t.TempDir(), "new", "dir")
	for _, name := range []string{"cat.bin", "cat-2.bin"} { // the second does not overwrite the first
		at := filepath.Join(dir, name)
		if out := s.must("flow", "run", document, "-i", "photo=@"+photo, "--output-dir", dir); !strings.HasSuffix(out, "): "+at) {
			t.Errorf("flow run of a file printed %q, wanted %s", out, at)
		}
		if saved, err := os.ReadFile(at); err != nil || !bytes.Equal(saved, data) {
			t.Errorf("saved %d of %d bytes: %v", len(saved), len(data), err)
		}
	}
	if out := s.must("flow", "run", document, "-i", "photo=@"+photo); !strings.Contains(out, "--output-dir") || strings.Contains(out, "http") {
		t.Errorf("a link that leads nowhere any more is printed: %q", out)
	}
	for name, args := range map[string][]string{
		"there is no file or directory": {"photo=@" + photo + ".nothing"}, "is a directory": {"photo=@" + dir}, "expected a file": {"photo=cat.bin"},
	} {
		r := s.command("flow", "run", id, "--input", args[0])
		if r.code != 1 || !strings.Contains(r.errs, name) {
			t.Errorf("%s: exit code %d, %s", args[0], r.code, r.errs)
		}
		checkSentence(t, args[0], r.errs)
	}
	small := newServer(t, "SLUICE_MAX_FILE=100KB")
	if r := small.command("flow", "run", small.publish(filing()), "--input", "photo=@"+photo); r.code != 1 || !strings.Contains(r.errs, "97.7 KiB") {
		t.Errorf("a file beyond the limit: exit code %d, %s", r.code, r.errs)
	}
}

// TestRerun_repeats_step_of_missing_file checks that a rerun does not reuse a result whose file was
// erased.
func TestRerun_repeats_step_of_missing_file(t *testing.T) {
	t.Parallel()
	site := newReceiver(t, func(w http.ResponseWriter, _ string, _ int) { _, _ = w.Write([]byte("the content")) })
	s := newServer(t)
	c := s.client(s.manager())
	id := s.publish(documentOf("Fetch", []object{node("fetch", "file", object{"url": site.URL + "/a.txt"}), output("got")}, "fetch.file > out_got.value"))
	first := c.succeed(id, object{})
	again := c.await(c.want(202, "POST", first.path()+"/rerun", nil).run(t))
	if n := len(site.at("/a.txt")); n != 1 || again.Status != "succeeded" {
		t.Fatalf("the file was fetched %d times, the rerun is %s", n, again.Status)
	}
	c.want(204, "DELETE", "/v1/files/"+first.Outputs["got"].(object)["file"].(string), nil)
	last := c.await(c.want(202, "POST", first.path()+"/rerun", nil).run(t))
	if n := len(site.at("/a.txt")); n != 2 || last.Status != "succeeded" {
		t.Fatalf("the file was fetched %d times, the rerun is %s", n, last.Status)
	}
	link := last.Outputs["got"].(object)["url"].(string)
	if a := (&client{t, func() string { return "" }, ""}).want(200, "GET", link, nil); string(a.body) != "the content" {
		t.Errorf("the file holds %q", a.body)
	}
}
