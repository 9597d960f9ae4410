package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"sluice/db/dbtest/s3server"
)

const (
	storageCallers = 16       // that upload and download small files at the same time
	smallSize      = 20 << 10 // bytes of each
)

// storageRow measures files whose content is in object storage, beside the same files in the data directory or the database: a large one,
// which must be streamed, and small ones. The storage shares the cores.
func (b *benchmark) storageRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		storage := must(s3server.New(must(os.MkdirTemp(b.dir, "s3-"))))
		own := must(b.newServer(on.env(b)...))
		there := must(b.newServer(append(on.env(b), "SLUICE_FILES="+storage.URL("bench"), "SLUICE_FILES_KEY_ID="+s3server.KeyID, "SLUICE_FILES_SECRET="+s3server.Secret)...))
		func() {
			defer storage.Close()
			defer own.kill()
			defer there.kill()
			b.storage(on, own, there)
			check(own.stop())
			check(there.stop())
		}()
	}
}

// storage measures the large file, and then both servers by turns.
func (b *benchmark) storage(on platform, own, there *server) {
	keys := []string{must(own.key()), must(there.key())}
	time.Sleep(settleTime)
	idle, start := there.rss(), time.Now()
	if !transferFile(there, keys[1]) {
		b.errors++
	}
	b.add(fmt.Sprintf("%d MiB to and from object storage, %s", fileSize>>20, on.title()),
		fmt.Sprintf("%.0f MiB above idle (%.0f) at most; %.1f s in all", there.peak()-idle, idle, time.Since(start).Seconds()), "≤ 40 MiB above idle", "")
	var samples [2][]*sample
	for range b.rounds {
		for i, s := range []*server{own, there} {
			before := s.cpuTime()
			l := must(requireCorrect(drive([]string{s.addr}, storageCallers, b.seconds/time.Duration(b.rounds), 0, smallFile(s, keys[i]))))
			samples[i] = append(samples[i], &sample{load: l, own: (s.cpuTime().server - before.server) / time.Duration(max(1, len(l.times)))})
		}
	}
	b.add(fmt.Sprintf("files of %d KiB to and from object storage by %d callers, %s", smallSize>>10, storageCallers, on.title()),
		fmt.Sprintf("%s files/s, %s of those without object storage; processor time per file %s", count(median(samples[1], rateOf)),
			ratio(samples[1], samples[0], rateOf), ratio(samples[1], samples[0], func(m *sample) float64 { return float64(m.own) })), "", "")
}

// transferFile uploads a large file, downloads it, and reports whether the contents are equal.
func transferFile(s *server, key string) bool {
	sent := sha256.New()
	body, contentType := multipartBody(sent)
	var given struct{ URL string }
	request(s, "/v1/files", key, contentType, body, &given)
	return downloadSum(given.URL) == string(sent.Sum(nil))
}

// smallFile returns a call that uploads a file with content of its own and downloads it.
func smallFile(s *server, key string) call {
	const begin, end = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n\r\n", "\r\n--b--\r\n"
	upload := []byte("POST /v1/files HTTP/1.1\r\nHost: sluice\r\nAuthorization: Bearer " + key + "\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ")
	return func(w *httpConn, caller, n int) error {
		content := make([]byte, smallSize)
		_, _ = rand.NewChaCha8([32]byte{byte(caller), byte(n), byte(n >> 8), byte(n >> 16)}).Read(content) // never fails
		status, body, err := w.post(upload, slices.Concat([]byte(begin), content, []byte(end)))
		var given struct{ File string }
		if err != nil || status != 201 || json.Unmarshal(body, &given) != nil {
			return unexpected(status, body, err)
		}
		status, body, err = w.get(head("GET", "/v1/files/"+given.File, key))
		if err != nil || status != 200 || !bytes.Equal(body, content) {
			return cmp.Or(err, fmt.Errorf("status %d, %d bytes of another content", status, len(body)))
		}
		return nil
	}
}
