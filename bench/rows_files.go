package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"time"
)

// fileSize is that of the file that travels, in bytes.
const fileSize = 100 << 20

// filesRow takes a large file through upload, a flow that fetches another of
// the same size, and download, and looks at the memory.
func (b *bench) filesRow() error {
	stub, stop, err := fileStub()
	if err != nil {
		return err
	}
	defer stop()
	s, err := b.newServer("SLUICE_ALLOW_PRIVATE=127.0.0.0/8")
	if err != nil {
		return err
	}
	defer s.kill()
	key, err := s.key()
	if err != nil {
		return err
	}
	id, err := s.publish(document("Files", []object{
		node("in", "input", object{"name": "given", "type": "file"}), node("fetch", "file", object{"url": stub}),
		node("given", "output", object{"name": "given"}), node("fetched", "output", object{"name": "fetched"}),
	}, "in.value", "given.value", "fetch.file", "fetched.value"))
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // until what a start needs has been given back
	idle := s.rss()
	begun := time.Now()
	if err := b.carryFile(s, key, id); err != nil {
		return err
	}
	b.add("100 MiB uploaded, 100 MiB fetched by a node, both downloaded", fmt.Sprintf("%.0f MiB above idle (%.0f) at most; %.1f s in all", s.peak()-idle, idle, time.Since(begun).Seconds()),
		"≤ 64 MiB above idle", "")
	return s.stop()
}

func (b *bench) carryFile(s *server, key, flowID string) error {
	sent := sha256.New()
	var given object
	if err := ask(http.MethodPost, "http://"+s.addr+"/v1/files", key, "", uploading(sent), &given); err != nil {
		return err
	}
	body, err := json.Marshal(object{"given": object{"file": given["file"]}})
	if err != nil {
		return err
	}
	var run struct {
		Status  string
		Outputs map[string]struct{ URL string }
	}
	if err := ask(http.MethodPost, "http://"+s.addr+"/v1/flow/"+flowID+"/run", key, string(body), nil, &run); err != nil {
		return err
	}
	if run.Status != "succeeded" {
		return fmt.Errorf("the run is %s", run.Status)
	}
	for name, file := range run.Outputs {
		got, err := fetchSum(file.URL)
		if err != nil {
			return err
		}
		if name == "given" && got != string(sent.Sum(nil)) || name == "fetched" && got != stubSum() {
			b.errors++
		}
	}
	return nil
}

// upload is a body on its way and its type.
type upload struct {
	io.Reader
	contentType string
}

// uploading is a multipart body that is made while it is sent.
func uploading(sum io.Writer) *upload {
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
	return &upload{r, form.FormDataContentType()}
}

func ask(method, url, key, body string, u *upload, into any) error {
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if u != nil {
		req.Body = io.NopCloser(u)
		req.Header.Set("Content-Type", u.contentType)
	} else {
		req.Body = io.NopCloser(strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Prefer", "wait=60")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, data)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func fetchSum(url string) (string, error) {
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

// noise is fileSize bytes that cannot be compressed, the same for a seed.
func noise(seed byte) io.Reader {
	return io.LimitReader(rand.NewChaCha8([32]byte{seed}), fileSize)
}

func stubSum() string {
	sum := sha256.New()
	_, _ = io.Copy(sum, noise(2)) // neither of the two can fail
	return string(sum.Sum(nil))
}

// fileStub serves a large file.
func fileStub() (url string, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = io.Copy(w, noise(2))
	})}
	go func() { _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/noise.bin", func() { _ = server.Shutdown(context.Background()) }, nil
}
