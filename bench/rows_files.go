package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"time"
)

// fileSize is the size of each transferred file in bytes.
const fileSize = 100 << 20

// filesRow uploads a large file, lets a flow fetch another of the same size,
// downloads both and measures the memory of the server. Files must be streamed: a
// server that buffered one would need its size in memory.
func (b *benchmark) filesRow(s *server) {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.Copy(w, noise(2))
	}))
	defer origin.Close()
	id, key := s.prepare(document("Files", []object{
		node("in", "input", object{"name": "given", "type": "file"}), node("fetch", "file", object{"url": origin.URL + "/noise.bin"}),
		node("given", "output", object{"name": "given"}), node("fetched", "output", object{"name": "fetched"}),
	}, "in.value", "given.value", "fetch.file", "fetched.value"))
	time.Sleep(settleTime)
	idle, start := s.rss(), time.Now()
	b.transferFiles(s, key, id)
	b.add("100 MiB uploaded, 100 MiB fetched by a node, both downloaded", fmt.Sprintf("%.0f MiB above idle (%.0f) at most; %.1f s in all", s.peak()-idle, idle, time.Since(start).Seconds()),
		"≤ 64 MiB above idle", "")
}

// transferFiles makes the requests of the row and compares the contents.
func (b *benchmark) transferFiles(s *server, key, flowID string) {
	sent, fetched := sha256.New(), sha256.New()
	_, _ = io.Copy(fetched, noise(2)) // cannot fail
	body, contentType := multipartBody(sent)
	var given object
	request(s, "/v1/files", key, contentType, body, &given)
	inputs := must(json.Marshal(object{"given": object{"file": given["file"]}}))
	var run struct {
		Status  string
		Outputs map[string]struct{ URL string }
	}
	request(s, "/v1/flow/"+flowID+"/run", key, "application/json", bytes.NewReader(inputs), &run)
	if run.Status != "succeeded" {
		check(fmt.Errorf("the run is %s", run.Status))
	}
	want := map[string]string{"given": string(sent.Sum(nil)), "fetched": string(fetched.Sum(nil))}
	for name, file := range run.Outputs {
		if downloadSum(file.URL) != want[name] {
			b.errors++
		}
	}
}

// multipartBody returns a body with a file that is generated while it is sent, and
// its content type. It writes the file's content to sum as well. Nothing of it is kept in
// memory, which would be counted for this process, not the server, but also slow it down.
func multipartBody(sum io.Writer) (body io.Reader, contentType string) {
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		part, err := form.CreateFormFile("file", "noise.bin")
		if err == nil {
			_, err = io.Copy(io.MultiWriter(part, sum), noise(1))
		}
		if err == nil {
			err = form.Close()
		}
		w.CloseWithError(err)
	}()
	return r, form.FormDataContentType()
}

// request sends a POST request and decodes the response.
func request(s *server, path, key, contentType string, body io.Reader, into any) {
	req := must(http.NewRequest(http.MethodPost, "http://"+s.addr+path, io.NopCloser(body)))
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Prefer", "wait=60")
	resp := must(http.DefaultClient.Do(req))
	defer resp.Body.Close()
	data := must(io.ReadAll(resp.Body))
	if resp.StatusCode/100 != 2 {
		check(fmt.Errorf("POST %s: %s: %s", path, resp.Status, data))
	}
	check(json.Unmarshal(data, into))
}

// downloadSum returns the SHA-256 of the content of a URL.
func downloadSum(url string) string {
	resp := must(http.Get(url))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		check(fmt.Errorf("GET %s: %s", url, resp.Status))
	}
	sum := sha256.New()
	must(io.Copy(sum, resp.Body))
	return string(sum.Sum(nil))
}

// noise returns fileSize bytes that cannot be compressed, the same for a seed.
func noise(seed byte) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), fileSize)
}
