package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/db/dbtest"
	"sluice/db/dbtest/s3server"
	"sluice/e2e/need"
)

// fleetFiles is how many files TestFleetFiles_lose_and_mix_up_nothing uploads; with more than 10 rounds it is soakFiles.
const fleetFiles, soakFiles = 300, 10_000

// fileFleet is three servers on one PostgreSQL database that share no disk, and the object storage that has their files.
type fileFleet struct {
	t       *testing.T
	url     string // of the database
	storage *s3server.Server
	servers []*server
	key     string

	mu     sync.Mutex
	kept   map[string]fileContent // by ID
	erased []string
	stats  map[string]int
}

// fileContent is what content returns for its fields.
type fileContent struct {
	seed uint64
	size int
}

func newFileFleet(t *testing.T) *fileFleet {
	t.Helper()
	f := &fileFleet{t: t, storage: s3server.Start(t), kept: map[string]fileContent{}, stats: map[string]int{}}
	cfg := dbtest.PostgresConfig(t)
	f.url = cfg.DatabaseURL
	for range 3 {
		s := stoppedServer(t, "DATABASE_URL="+cfg.DatabaseURL, "SLUICE_MASTER_KEY="+cfg.MasterKey,
			"SLUICE_FILES="+f.storage.URL("p"), "SLUICE_FILES_KEY_ID="+s3server.KeyID, "SLUICE_FILES_SECRET="+s3server.Secret)
		s.faulty = true
		s.start()
		f.servers = append(f.servers, s)
	}
	f.key = f.servers[0].manager()
	return f
}

// outage is how many requests fail one after the other: enough for all callers to have one that fails in all four attempts of a server.
const outage = 100

// breakStorage breaks a third of the requests to the storage, and all requests of an outage now and then, which servers must refuse.
func (f *fileFleet) breakStorage(random *rand.Rand) {
	faults := []s3server.Fault{{Status: 503}, {Status: 500, Code: "InternalError"}, {CutUpload: true}, {LoseAnswer: true}, {CutAnswer: 100}, {Alter: true}}
	requests := 0
	f.storage.Fail(func(r *http.Request) s3server.Fault { // one request after the other
		if requests++; requests%(6*outage) > 5*outage {
			return s3server.Fault{Status: http.StatusServiceUnavailable}
		}
		if random.IntN(1000) == 0 {
			return s3server.Fault{Silence: 10 * time.Second}
		}
		if random.IntN(3) > 0 {
			return s3server.Fault{}
		}
		fault := faults[random.IntN(len(faults))]
		fault.CutUpload = fault.CutUpload && r.Method == http.MethodPut
		return fault
	})
}

// count counts events by name.
func (f *fileFleet) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stats[what]++
}

// insist repeats a request at random servers until it is answered with a status. Other answers must say that
// the storage is away and when to try again.
func (f *fileFleet) insist(random *rand.Rand, status int, send func(s *server) (*response, error)) *response {
	f.t.Helper()
	for deadline := time.Now().Add(waitTimeout); time.Now().Before(deadline); {
		a, err := send(f.servers[random.IntN(len(f.servers))])
		switch {
		case err != nil:
			f.count("broken answers")
		case a.status == status:
			return a
		case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "" && bytes.Contains(a.body, []byte(`"storage_unavailable"`)):
			f.count("refusals")
		default:
			f.t.Errorf("status %d instead of %d: %.300s", a.status, status, a.body)
			return nil
		}
		time.Sleep(time.Duration(5+random.IntN(40)) * time.Millisecond) // as clients wait between their tries
	}
	f.t.Errorf("no answer with the status %d for %s", status, waitTimeout)
	return nil
}

// transfer uploads a file, downloads it, and erases half of them.
func (f *fileFleet) transfer(random *rand.Rand, c fileContent) {
	data := content(c.seed, c.size)
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	part, err := form.CreateFormFile("file", "noise.bin")
	if err == nil {
		_, err = part.Write(data)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		f.t.Error(err)
		return
	}
	a := f.insist(random, http.StatusCreated, func(s *server) (*response, error) {
		return s.client(f.key).try("POST", "/v1/files", b.Bytes(), "Content-Type: "+form.FormDataContentType())
	})
	var value struct{ File string }
	if a == nil || json.Unmarshal(a.body, &value) != nil || value.File == "" {
		f.t.Errorf("an upload has no usable answer: %+v", a)
		return
	}
	f.count("uploads")
	f.want(random, value.File, data)
	if random.IntN(2) == 0 {
		f.mu.Lock()
		f.kept[value.File] = c
		f.mu.Unlock()
		return
	}
	f.erase(random, value.File)
}

// want downloads a file and compares its content.
func (f *fileFleet) want(random *rand.Rand, id string, data []byte) {
	f.t.Helper()
	a := f.insist(random, http.StatusOK, func(s *server) (*response, error) { return s.client(f.key).try("GET", "/v1/files/"+id, nil) })
	if a != nil && !bytes.Equal(a.body, data) {
		f.t.Errorf("%s has %d bytes of other content than the %d that were uploaded", id, len(a.body), len(data))
	}
	f.count("downloads")
}

func (f *fileFleet) erase(random *rand.Rand, id string) {
	f.insist(random, http.StatusNoContent, func(s *server) (*response, error) { return s.client(f.key).try("DELETE", "/v1/files/"+id, nil) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.erased = append(f.erased, id)
}

// wantObjects waits until the storage has exactly the objects of some contents, and the object that names its owner.
func (f *fileFleet) wantObjects(contents map[string]fileContent) {
	f.t.Helper()
	want := map[string]bool{}
	for _, c := range contents {
		sum := sha256.Sum256(content(c.seed, c.size))
		want[hex.EncodeToString(sum[:])] = true
	}
	// Abandoned uploads are swept after an hour, and when a server starts.
	conn, err := pgxpool.New(f.t.Context(), f.url)
	if err != nil {
		f.t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Exec(f.t.Context(), "UPDATE uploads SET touched_at = 0"); err != nil {
		f.t.Fatal(err)
	}
	f.servers[0].stop()
	f.servers[0].start()
	var have []string
	waitUntil(f.t, "the storage has the objects of all files and no others", func() bool {
		have = have[:0]
		for _, path := range f.storage.Objects(f.t, "p/sha256") {
			hash, _, _ := strings.Cut(filepath.Base(path), "-")
			have = append(have, filepath.Base(filepath.Dir(path))+hash)
		}
		if len(have) != len(want) {
			return false
		}
		for _, hash := range have {
			if !want[hash] {
				return false
			}
		}
		return true
	})
}

// TestFleetFiles_lose_and_mix_up_nothing uploads, downloads and erases files at three servers without a shared disk while a third of the requests to
// the object storage fails: nothing that was acknowledged is lost, no wrong byte is served, and no object stays without a file.
func TestFleetFiles_lose_and_mix_up_nothing(t *testing.T) {
	need.Slow(t)
	t.Parallel()
	f := newFileFleet(t)
	n := fleetFiles
	if *rounds > 10 {
		n = soakFiles
	}
	source := random(t)
	f.breakStorage(rand.New(rand.NewPCG(source.Uint64(), 0)))
	next := make(chan fileContent)
	var callers sync.WaitGroup
	for range 12 {
		own := rand.New(rand.NewPCG(source.Uint64(), 1))
		callers.Go(func() {
			for c := range next {
				f.transfer(own, c)
			}
		})
	}
	for i := range n {
		c := fileContent{uint64(i), 1 + source.IntN(100_000)}
		switch source.IntN(20) {
		case 0:
			c.size += 2 << 20 // several pieces
		case 1, 2, 3, 4:
			c = fileContent{uint64(i % 7), 50_000} // the same content as other files
		}
		next <- c
	}
	close(next)
	callers.Wait()
	f.storage.Fail(nil)
	for id, c := range f.kept {
		f.want(source, id, content(c.seed, c.size))
	}
	for _, id := range f.erased {
		f.insist(source, http.StatusNotFound, func(s *server) (*response, error) { return s.client(f.key).try("GET", "/v1/files/"+id, nil) })
	}
	f.wantObjects(f.kept)
	for id := range f.kept {
		f.erase(source, id)
	}
	f.wantObjects(nil)
	if f.stats["refusals"] == 0 {
		t.Error("no request was refused, so the faults tested nothing")
	}
	t.Logf("%d files on %d servers, %d requests to the storage: %v", n, len(f.servers), f.storage.Requests(), f.stats)
}
