package s3_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/db/dbtest/s3server"
	"sluice/outbound/s3"
)

// storage is a client of a server for tests.
type storage struct {
	*s3.Client
	t      *testing.T
	server *s3server.Server
}

func setup(t *testing.T) *storage {
	t.Helper()
	server := s3server.Start(t)
	return &storage{clientOf(t, server.URL("prefix"), s3server.KeyID, s3server.Secret), t, server}
}

func clientOf(t *testing.T, address, id, secret string) *s3.Client {
	t.Helper()
	settings, err := s3.ParseSettings(address)
	if err != nil {
		t.Fatal(err)
	}
	return s3.New(settings, s3.NewSources(s3.Credentials{KeyID: id, Secret: secret}, settings.Region))
}

// random returns content without repetitions, so that a wrong offset is noticed.
func random(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(data)
	return data
}

func (s *storage) put(key string, data []byte) error {
	sum := sha256.Sum256(data)
	return s.Put(s.t.Context(), key, int64(len(data)), hex.EncodeToString(sum[:]), func() io.Reader { return bytes.NewReader(data) })
}

func (s *storage) get(key string, from, length int64) ([]byte, error) {
	r, err := s.Get(s.t.Context(), key, from, length)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (s *storage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *storage) wantContent(key string, from, length int64, want []byte) {
	s.t.Helper()
	got, err := s.get(key, from, length)
	s.must(err)
	if !bytes.Equal(got, want) {
		s.t.Errorf("%s from %d: got %d bytes, want %d", key, from, len(got), len(want))
	}
}

func TestClient(t *testing.T) {
	t.Parallel()
	s := setup(t)
	data := random(3<<20 + 5)
	s.must(s.put("a/b", data))
	s.must(s.put("a/empty", nil))
	s.wantContent("a/b", 0, -1, data)
	s.wantContent("a/b", 100, 50, data[100:150])
	s.wantContent("a/b", int64(len(data)-5), -1, data[len(data)-5:])
	if _, err := s.get("a/none", 0, -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that does not exist: %v", err)
	}
	var listed []string
	s.must(s.List(t.Context(), "a/", func(key string, size int64, modified time.Time) error {
		if time.Since(modified).Abs() > time.Hour {
			t.Errorf("%s was modified at %s", key, modified)
		}
		listed = append(listed, fmt.Sprint(key, " ", size))
		return nil
	}))
	if got := strings.Join(listed, ", "); got != "a/b 3145733, a/empty 0" {
		t.Errorf("listed %s", got)
	}
	s.must(s.Delete(t.Context(), "a/b"))
	s.must(s.Delete(t.Context(), "a/b"))
	if _, err := s.get("a/b", 0, -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a deleted object: %v", err)
	}
	s.must(s.Check(t.Context()))
}

func TestLink_serves_the_object_as_a_download(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must(s.put("a", []byte("content")))
	link, err := s.Link(t.Context(), "a", "text/plain", `attachment; filename="a b.txt"`, time.Minute)
	s.must(err)
	resp, err := http.Get(link)
	s.must(err)
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || string(data) != "content" || resp.Header.Get("Content-Disposition") != `attachment; filename="a b.txt"` {
		t.Errorf("got %s %v %q", resp.Status, resp.Header, data)
	}
	resp, err = http.Get(strings.Replace(link, "X-Amz-Expires=60", "X-Amz-Expires=600", 1))
	s.must(err)
	resp.Body.Close()
	if resp.StatusCode != 403 {
		t.Errorf("a changed link gives %s", resp.Status)
	}
}

// TestClient_retries checks that single faults are not noticed by callers.
func TestClient_retries(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]s3server.Fault{
		"slow down":   {Status: 503},
		"internal":    {Status: 500, Code: "InternalError"},
		"cut upload":  {CutUpload: true},
		"lost answer": {LoseAnswer: true},
		"expired key": {Status: 400, Code: "ExpiredToken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			var calls atomic.Int64
			s.server.Fail(func(*http.Request) s3server.Fault {
				if calls.Add(1)%2 == 1 {
					return fault
				}
				return s3server.Fault{}
			})
			data := random(100_000)
			s.must(s.put("a", data))
			s.wantContent("a", 0, -1, data)
			s.must(s.Delete(t.Context(), "a"))
		})
	}
}

func TestPut_is_refused_if_the_content_differs_from_its_hash(t *testing.T) {
	t.Parallel()
	s := setup(t)
	sum := sha256.Sum256([]byte("expected"))
	err := s.Put(t.Context(), "a", 8, hex.EncodeToString(sum[:]), func() io.Reader { return strings.NewReader("another ") })
	if err == nil {
		t.Error("the storage accepted it")
	}
	if _, err := s.get("a", 0, -1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading it: %v", err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	server := s3server.Start(t)
	elsewhere := strings.Replace(server.URL("p"), s3server.Bucket, "nowhere", 1)
	for name, test := range map[string]struct{ address, id, secret, want string }{
		"unknown key":  {server.URL("p"), "other-key", s3server.Secret, "does not know this access key"},
		"wrong secret": {server.URL("p"), s3server.KeyID, "wrong-secret", "secret does not belong"},
		"no bucket":    {elsewhere, s3server.KeyID, s3server.Secret, "Create the bucket"},
		"no server":    {"s3://files?endpoint=http://127.0.0.1:1", s3server.KeyID, s3server.Secret, "Check the endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := clientOf(t, test.address, test.id, test.secret).Check(ctx)
			if err == nil || !strings.Contains(s3.Explain(err), test.want) {
				t.Errorf("got %v: %s", err, s3.Explain(err))
			}
		})
	}
}

func TestParseSettings(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"s3://bucket":                                "bucket/ at s3.us-east-1.amazonaws.com",
		"s3://bucket/a/b/?region=eu-central-1":       "bucket/a/b/ at s3.eu-central-1.amazonaws.com",
		"s3://bucket?endpoint=https://x.example.com": "bucket/ at x.example.com",
	} {
		s, err := s3.ParseSettings(text)
		if err != nil || s.Name() != want {
			t.Errorf("%s: got %s, %v", text, s.Name(), err)
		}
	}
	for _, text := range []string{"", "bucket", "https://bucket", "s3://", "s3://B", "s3://key:secret@bucket", "s3://bucket/a%20b", "s3://bucket/../x",
		"s3://bucket?endpoint=storage.example.com", "s3://bucket?endpoint=https://x/y", "s3://bucket?path_style=yes", "s3://bucket?secret=x", "s3://bucket?region=a&region=b"} {
		if _, err := s3.ParseSettings(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
