package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"testing"

	"sluice/e2e/need"
)

const (
	// largeFile is the size of the file of TestFleetFiles_stream_through_little_memory; with more than 10 rounds it is soakFile, the largest
	// that is accepted by default.
	largeFile, soakFile = 128 << 20, 512 << 20
	// fileMemory is how much memory a server may take beyond that of small files.
	fileMemory = 40 << 20
)

// TestFleetFiles_stream_through_little_memory uploads a large file at one server and downloads it at another.
func TestFleetFiles_stream_through_little_memory(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFileFleet(t)
	size := int64(largeFile)
	if *rounds > 10 {
		size = soakFile
	}
	f.transfer(random(t), fileContent{1, 3 << 20}) // what any file needs
	before := map[*server]int64{}
	for _, s := range f.servers {
		s.forgetPeak(t)
		before[s] = s.process().memory(t, "VmRSS")
	}
	sent, r := sha256.New(), func() io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }
	body, form := io.Pipe()
	writer := multipart.NewWriter(form)
	go func() {
		part, err := writer.CreateFormFile("file", "noise.bin")
		if err == nil {
			_, err = io.Copy(io.MultiWriter(part, sent), r())
		}
		form.CloseWithError(errors.Join(err, writer.Close()))
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.servers[0].base()+"/v1/files", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+f.key)
	req.Header.Set("Content-Type", writer.FormDataContentType())
	resp, err := plain.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var value struct {
		File string
		Size int64
	}
	if err := json.NewDecoder(resp.Body).Decode(&value); err != nil || resp.StatusCode != http.StatusCreated || value.Size != size {
		t.Fatalf("the upload is answered with %d, %+v, %v", resp.StatusCode, value, err)
	}
	down, err := f.servers[1].client(f.key).open(t.Context(), "GET", "/v1/files/"+value.File, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer down.Body.Close()
	got := sha256.New()
	if _, err := io.Copy(got, down.Body); err != nil || !bytes.Equal(got.Sum(nil), sent.Sum(nil)) {
		t.Errorf("the download differs from the upload: %v", err)
	}
	for i, s := range f.servers {
		grown := s.process().memory(t, "VmHWM") - before[s]
		if grown > fileMemory {
			t.Errorf("server %d took %d MiB more for a file of %d MiB", i, grown>>20, size>>20)
		}
		t.Logf("server %d took %d MiB more for a file of %d MiB", i, grown>>20, size>>20)
	}
}
