package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// fileSize is the size of each transferred file in bytes.
const fileSize = 100 << 20

// filesRow uploads a large file, lets a flow fetch another of the same size,
// downloads both and measures the memory of the server. Files must be streamed: a
// server that buffered one would need its size in memory.
func (b *benchmark) filesRow(s *server) error {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.Copy(w, noise(2))
	}))
	defer origin.Close()
	id, key, err := s.prepare(document("Files", []object{
		node("in", "input", object{"name": "given", "type": "file"}), node("fetch", "file", object{"url": origin.URL + "/noise.bin"}),
		node("given", "output", object{"name": "given"}), node("fetched", "output", object{"name": "fetched"}),
	}, "in.value", "given.value", "fetch.file", "fetched.value"))
	if err != nil {
		return err
	}
	time.Sleep(settleTime)
	idle, start := s.rss(), time.Now()
	if err := b.transferFiles(s, key, id); err != nil {
		return err
	}
	b.add("100 MiB uploaded, 100 MiB fetched by a node, both downloaded", fmt.Sprintf("%.0f MiB above idle (%.0f) at most; %.1f s in all", s.peak()-idle, idle, time.Since(start).Seconds()),
		"≤ 64 MiB above idle", "")
	return nil
}

// transferFiles makes the requests of the row and compares the contents.
func (b *benchmark) transferFiles(s *server, key, flowID string) error {
	sent, fetched := sha256.New(), sha256.New()
	_, _ = io.Copy(fetched, noise(2)) // cannot fail
	body, contentType := multipartBody(sent)
	var given object
	if err := request(s, "/v1/files", key, contentType, body, &given); err != nil {
		return err
	}
	inputs, err := json.Marshal(object{"given": object{"file": given["file"]}})
	if err != nil {
		return err
	}
	var run struct {
		Status  string
		Outputs map[string]struct{ URL string }
	}
	if err := request(s, "/v1/flow/"+flowID+"/run", key, "application/json", strings.NewReader(string(inputs)), &run); err != nil {
		return err
	}
	if run.Status != "succeeded" {
		return fmt.Errorf("the run is %s", run.Status)
	}
	want := map[string]string{"given": string(sent.Sum(nil)), "fetched": string(fetched.Sum(nil))}
	for name, file := range run.Outputs {
		got, err := downloadSum(file.URL)
		if err != nil {
			return err
		}
		if got != want[name] {
			b.errors++
		}
	}
	return nil
}

// multipartBody returns a body with a file that is generated while it is sent, and
// its content type. It writes the file's content to sum as well.
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
func request(s *server, path, key, contentType string, body io.Reader, into any) error {
	req, err := http.NewRequest(http.MethodPost, "http://"+s.addr+path, io.NopCloser(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("Prefer", "wait=60")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("POST %s: %s: %s", path, resp.Status, data)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// downloadSum returns the SHA-256 of the content of a URL.
func downloadSum(url string) (string, error) {
	resp, err := http.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", url, resp.Status)
	}
	sum := sha256.New()
	_, err = io.Copy(sum, resp.Body)
	return string(sum.Sum(nil)), err
}

// noise returns fileSize bytes that cannot be compressed, the same for a seed.
func noise(seed byte) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), fileSize)
}
