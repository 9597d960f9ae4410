package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"time"
)

// batchRow measures batches: how fast their rows are, compared with runs that callers start, when the first one runs, what they take
// of the memory, and how fast the results are written.
func (b *benchmark) batchRow() {
	for _, on := range b.on {
		if on.instances > 1 {
			continue
		}
		var env []string
		if on.postgres {
			env = []string{"DATABASE_URL=" + b.database(), "SLUICE_MASTER_KEY=" + masterKey}
		}
		s := must(b.newServer(env...))
		func() {
			defer s.kill()
			b.batchOn(s, on)
		}()
	}
}

// batchOn measures ten times as many rows as the row map has items.
func (b *benchmark) batchOn(s *server, on platform) {
	id, key := s.prepare(greeting())
	call := waiting(id, key, greeted)
	must(requireCorrect(drive([]string{s.addr}, parallel, warmUp, 0, call)))
	rows := 10 * b.items
	s.forgetPeak()
	plain := must(requireCorrect(drive([]string{s.addr}, parallel, 0, b.items, call)))
	before := s.peak()
	s.forgetPeak()
	r := s.runBatch(id, key, rows)
	b.add(fmt.Sprintf("%s rows of input → template → output in one batch, %s", count(float64(rows)), on.title()),
		fmt.Sprintf("%s rows/s, %.0f %% of %s runs/s by %d callers; first row after %s; peak memory %+.0f MiB; results as CSV in %s",
			count(float64(rows)/r.all.Seconds()), 100*float64(rows)/r.all.Seconds()/plain.rate(), count(plain.rate()), parallel, ms(r.first), s.peak()-before, ms(r.results)),
		"100,000 rows: ≥ 60 %, ≤ 10 s, ≤ 20 MiB more, ≤ 10 s", "")
}

// batchTimes are how long parts of a batch took from its request.
type batchTimes struct{ first, all, results time.Duration }

// runBatch runs a batch of a CSV.
func (s *server) runBatch(id, key string, rows int) (t batchTimes) {
	var table bytes.Buffer
	table.WriteString("name\n")
	for i := range rows {
		fmt.Fprintf(&table, "m%d\n", i)
	}
	base := "http://" + s.addr + "/v1"
	call := func(method, path, media string, body io.Reader) []byte {
		r := must(http.NewRequest(method, base+path, body))
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", media)
		answer := must(http.DefaultClient.Do(r))
		defer answer.Body.Close()
		data := must(io.ReadAll(answer.Body))
		if answer.StatusCode/100 != 2 {
			check(unexpected(answer.StatusCode, data, nil))
		}
		return data
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part := must(form.CreateFormFile("file", "rows.csv"))
	must(part.Write(table.Bytes()))
	check(form.Close())
	var file struct{ File string }
	check(json.Unmarshal(call("POST", "/files", form.FormDataContentType(), &body), &file))
	start := time.Now()
	var batch struct {
		Run struct {
			ID     string `json:"run_id"`
			Status string
		}
		Rows struct{ Succeeded int }
	}
	path := "/flow/" + id + "/batches"
	check(json.Unmarshal(call("POST", path, "application/json", bytes.NewReader(must(json.Marshal(object{"file": file.File, "concurrency": parallel})))), &batch))
	for path += "/" + batch.Run.ID; batch.Run.Status != "succeeded"; time.Sleep(100 * time.Millisecond) {
		check(json.Unmarshal(call("GET", path, "", nil), &batch))
		if t.first == 0 && batch.Rows.Succeeded > 0 {
			t.first = time.Since(start)
		}
		if batch.Run.Status == "failed" || batch.Run.Status == "canceled" {
			check(fmt.Errorf("the batch %s: %s", batch.Run.Status, call("GET", path, "", nil)))
		}
	}
	t.all = time.Since(start)
	start = time.Now()
	if n := bytes.Count(call("GET", path+"/results?format=csv", "", nil), []byte("succeeded")); n != rows {
		check(fmt.Errorf("the results have %d rows, want %d", n, rows))
	}
	t.results = time.Since(start)
	return t
}
