// Package s3server runs a private S3 server for tests and benchmarks, with a proxy in front that breaks requests as
// networks and overloaded storages do. It owns the server's directory and process, and knows nothing of
// what is stored.
package s3server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"sluice/e2e/need"
)

const (
	// source is the server, which checks signatures as AWS does.
	source  = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
	program = "versitygw-v1.8.0"
	// buildTimeout bounds its compilation.
	buildTimeout = 15 * time.Minute

	// Bucket is the bucket that exists.
	Bucket = "files"
	// KeyID and Secret are the access key.
	KeyID  = "test-access-key"
	Secret = "test-secret-of-the-access-key" //nolint:gosec // of a server that lives as long as a test
)

// Server is an S3 server with one bucket. Its zero faults forward all requests.
type Server struct {
	dir   string
	cmd   *exec.Cmd
	front *httptest.Server
	back  *url.URL

	mu    sync.Mutex
	fault func(*http.Request) Fault
	calls int
}

// Fault is what happens to a request. The zero value forwards it.
type Fault struct {
	Status     int           // the answer, with the code SlowDown for 503; the server never sees the request
	Code       string        // S3's code in such an answer
	CutUpload  bool          // closes the connection after half of the body; the server never sees the request
	LoseAnswer bool          // the server handles the request, and its answer is lost
	CutAnswer  int64         // closes the connection after this many bytes of the answer's body
	Alter      bool          // changes the first byte of the answer's body
	Silence    time.Duration // before the request is forwarded
}

// Start starts a server that is removed after the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s, err := New(t.TempDir())
	if errors.Is(err, errNotBuilt) {
		t.Log(err)
		need.Tool(t, "the S3 server for tests cannot be built", false)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// New starts a server that stores objects in a directory. It ends with this process.
func New(dir string) (_ *Server, err error) {
	path, err := binary()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir}
	if err := os.Mkdir(filepath.Join(s.dir, Bucket), 0o755); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(path, "--access", KeyID, "--secret", Secret, "--port", addr, "--keep-alive", "--quiet", "posix", s.dir)
	var output strings.Builder
	s.cmd.Stdout, s.cmd.Stderr = &output, &output
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	s.back = &url.URL{Scheme: "http", Host: addr}
	if err := await(addr); err != nil {
		s.end()
		return nil, fmt.Errorf("no connection to the S3 server: %w\n%s", err, &output)
	}
	s.front = httptest.NewServer(s.handler())
	return s, nil
}

// Close ends the server. Its objects stay.
func (s *Server) Close() {
	s.front.Close()
	s.end()
}

func (s *Server) end() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // it was killed
}

// await waits until the server accepts connections.
func await(addr string) error {
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// errNotBuilt means that the server's program cannot be built, such as without a network.
var errNotBuilt = errors.New("the S3 server cannot be built")

// binary returns the path of the server's program. It is built once into the user's cache directory.
func binary() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(cache, "sluice-test")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(home, program)
	lone := flock.New(path + ".lock") // among all test processes of the machine
	if err := lone.Lock(); err != nil {
		return "", err
	}
	defer lone.Close() //nolint:errcheck // the process's end lets it go too
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	tmp, err := os.MkdirTemp(home, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // renamed away, or left to the next cleaning of caches
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "install", source)
	cmd.Dir, cmd.Env = tmp, append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %w\n%s", errNotBuilt, err, out)
	}
	return path, os.Rename(filepath.Join(tmp, "versitygw"), path)
}

// URL returns the setting for a server that stores files here, under a prefix.
func (s *Server) URL(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?path_style=true&endpoint=" + url.QueryEscape(s.front.URL)
}

// Fail sets what happens to each request; nil ends all faults.
func (s *Server) Fail(fault func(*http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// Requests returns the number of requests so far.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Objects returns the paths of the files with the content of objects under a prefix.
func (s *Server) Objects(t testing.TB, prefix string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(s.dir, Bucket), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasPrefix(path, filepath.Join(s.dir, Bucket, prefix)) {
			paths = append(paths, path)
		}
		if errors.Is(err, os.ErrNotExist) { // deleted meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func (s *Server) handler() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(s.back)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorLog:     log.New(io.Discard, "", 0), // of answers that a test cuts
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: func(resp *http.Response) error {
			f, _ := resp.Request.Context().Value(faultKey{}).(Fault)
			if f.LoseAnswer {
				return errors.New("lost")
			}
			if f.CutAnswer > 0 || f.Alter {
				resp.Body = &brokenBody{ReadCloser: resp.Body, left: f.CutAnswer, alter: f.Alter, cut: f.CutAnswer > 0}
			}
			return nil
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.calls++
		var f Fault
		if s.fault != nil {
			f = s.fault(r)
		}
		s.mu.Unlock()
		switch {
		case f.Silence > 0:
			select {
			case <-time.After(f.Silence):
			case <-r.Context().Done():
				return
			}
		case f.Status != 0:
			if f.Code == "" && f.Status == http.StatusServiceUnavailable {
				f.Code = "SlowDown"
			}
			w.WriteHeader(f.Status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>made by a test</Message></Error>", f.Code)
			return
		case f.CutUpload:
			_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2)
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), faultKey{}, f)))
	})
}

// faultKey is the key of the Fault in the context of a request.
type faultKey struct{}

// brokenBody alters or cuts the body of an answer.
type brokenBody struct {
	io.ReadCloser
	left       int64
	cut, alter bool
}

// Read implements io.Reader.
func (b *brokenBody) Read(p []byte) (int, error) {
	if b.cut && b.left <= 0 {
		return 0, errors.New("cut")
	}
	if b.cut {
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := b.ReadCloser.Read(p)
	if b.alter && n > 0 {
		p[0] ^= 1
		b.alter = false
	}
	b.left -= int64(n)
	return n, err
}
