package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sluice/e2e/need"
)

// proxy is a reverse proxy with its file from deploy, changed only where tests need it: addresses,
// certificates and directories.
type proxy struct {
	program string
	// run returns the command that serves a server at a port. Dir is an empty directory.
	run func(t *testing.T, dir string, port int, server string) *exec.Cmd
}

var proxies = map[string]proxy{
	"caddy": {"caddy", func(_ *testing.T, dir string, port int, server string) *exec.Cmd {
		cmd := exec.Command("caddy", "run", "--adapter", "caddyfile", "--config", "../deploy/Caddyfile")
		cmd.Env = environment("SLUICE_DOMAIN=http://127.0.0.1:"+strconv.Itoa(port), "SLUICE_UPSTREAM="+server,
			"CADDY_ADMIN=unix/"+filepath.Join(dir, "admin"), "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return cmd
	}},
	"nginx": {"nginx", func(t *testing.T, dir string, port int, server string) *exec.Cmd {
		text, err := os.ReadFile("../deploy/nginx.conf")
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.SplitSeq(string(text), "\n") {
			switch words := strings.Fields(line); {
			case len(words) > 0 && (words[0] == "http2" || strings.HasPrefix(words[0], "ssl_certificate") || strings.HasPrefix(line, "    listen [::]")):
			case strings.HasPrefix(line, "    listen "):
				lines = append(lines, fmt.Sprintf("listen 127.0.0.1:%d;", port))
			default:
				lines = append(lines, strings.ReplaceAll(line, "127.0.0.1:8080", server))
			}
		}
		config := filepath.Join(dir, "nginx.conf")
		whole := fmt.Sprintf("daemon off;\nworker_processes 1;\npid %[1]s/pid;\nerror_log stderr;\nuser root;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path %[1]s/body;\nproxy_temp_path %[1]s/proxy;\nfastcgi_temp_path %[1]s/f;\nuwsgi_temp_path %[1]s/u;\nscgi_temp_path %[1]s/s;\n%[2]s\n}\n", dir, strings.Join(lines, "\n"))
		if os.Getuid() != 0 {
			whole = strings.Replace(whole, "user root;\n", "", 1)
		}
		if err := os.WriteFile(config, []byte(whole), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("nginx", "-p", dir, "-c", config)
		cmd.Env = environment()
		return cmd
	}},
}

// TestProxies puts real proxies with the files from deploy in front of a server: events pass while the
// run still works, and so do large files and the addresses of clients.
func TestProxies(t *testing.T) {
	t.Parallel()
	need.Slow(t)
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := os.Getenv("PATH") + ":/usr/sbin"
			found := false
			for dir := range strings.SplitSeq(path, ":") {
				if _, err := os.Stat(filepath.Join(dir, p.program)); err == nil {
					found = true
				}
			}
			need.Tool(t, name+" is not installed", found)
			s := newServer(t, "SLUICE_TRUSTED_PROXIES=127.0.0.1")
			c := p.front(t, s)

			// The step ends only when the client has seen through the proxy that it began.
			upstream := newSlowUpstream(t)
			r := c.start(s.publish(calling(upstream.URL)), object{"n": "1"})
			began := false
			c.eventsUntil(r, 0, func(e event) bool {
				began = e.name == "step" && strings.Contains(e.data, `"call"`) && strings.Contains(e.data, "running")
				return began
			})
			upstream.release()
			if r = c.await(r); !began || r.Status != "succeeded" {
				t.Errorf("the stream showed that the step runs: %t, and the run is %s", began, r.Status)
			}

			data := content(7, 60<<20)
			file := c.upload("large.bin", data)
			got := c.want(200, "GET", "/v1/files/"+fmt.Sprint(file["file"]), nil)
			if !bytes.Equal(got.body, data) {
				t.Errorf("the file has %d bytes after a way through the proxy, wanted %d", len(got.body), len(data))
			}
		})
	}
}

// front starts the proxy in front of a server and returns a client that uses it.
func (p proxy) front(t *testing.T, s *server) *client {
	t.Helper()
	port := freePort(t)
	dir, err := os.MkdirTemp("", "sluice-proxy-") // short enough for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cmd := p.run(t, dir, port, strings.TrimPrefix(s.base(), "http://"))
	if filepath.Base(cmd.Path) == cmd.Path {
		cmd.Path = filepath.Join("/usr/sbin", cmd.Path)
		cmd.Err = nil
	}
	out := newProcessOutput()
	cmd.Stdout, cmd.Stderr = out, out
	dieWithTests(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // nginx stops its workers then
		<-ended
	})
	base := "http://127.0.0.1:" + strconv.Itoa(port)
	waitUntil(t, "the proxy serves", func() bool {
		select {
		case <-ended:
			t.Fatalf("the proxy ended: %s", out)
		default:
		}
		return ready(base)
	})
	return &client{t, func() string { return base }, s.key("--scope", "run,read")}
}

// TestFlyStart starts Sluice as on Fly, with Litestream: as an unprivileged user on a volume of root. A
// new volume gets the database back from the bucket.
func TestFlyStart(t *testing.T) {
	t.Parallel()
	need.Slow(t)
	_, err := exec.LookPath("setpriv")
	need.Tool(t, "only root can start as on Fly", err == nil && os.Getuid() == 0)
	litestream := need.Program(t, "github.com/benbjohnson/litestream/cmd/litestream@v0.5.18")
	bucket, stored := startS3(t)

	base, err := os.MkdirTemp("", "sluice-fly-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	bin := filepath.Join(base, "bin")
	script, err := filepath.Abs("../deploy/fly-start")
	if err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile("../deploy/litestream.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Chmod(base, 0o755), os.Mkdir(bin, 0o755), os.Mkdir(filepath.Join(base, "tmp"), 0o777), os.Chmod(filepath.Join(base, "tmp"), 0o777), copyProgram(sluice, filepath.Join(bin, "sluice")), copyProgram(litestream, filepath.Join(bin, "litestream")),
		os.WriteFile(filepath.Join(base, "litestream.yml"), config, 0o644), // #nosec G306: read by another user
		os.WriteFile(filepath.Join(bin, "start"), []byte("#!/bin/sh\nif [ \"$1\" = serve ]; then exec "+script+"; fi\nexec sluice \"$@\"\n"), 0o755),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s := stoppedServer(t, "SLUICE_MASTER_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+base, "TMPDIR="+filepath.Join(base, "tmp"), "LITESTREAM_CONFIG="+filepath.Join(base, "litestream.yml"),
		"LITESTREAM_REPLICA_URL=s3://files/sluice?endpoint="+bucket, "LITESTREAM_ACCESS_KEY_ID="+s3Key, "LITESTREAM_SECRET_ACCESS_KEY="+s3Secret)
	s.program, s.faulty = filepath.Join(bin, "start"), true
	s.dir = filepath.Join(base, "data")
	s.env = append(s.env, "SLUICE_DATA_DIR="+s.dir)
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.start()
	if info, err := os.Stat(s.dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory has the mode %v: %v", info.Mode(), err)
	}
	if owner, err := exec.Command("stat", "-c", "%u %U", filepath.Join(s.dir, "sluice.db")).Output(); err != nil || !strings.HasPrefix(string(owner), "65532 ") {
		t.Errorf("the database belongs to %s: %v", owner, err)
	}
	// Litestream looks at the database for the first time after a second. A database that was closed before has no log left,
	// and is copied with the next start.
	waitUntil(t, "Litestream copies the database", func() bool {
		found, err := os.ReadDir(filepath.Join(stored, "sluice"))
		return err == nil && len(found) > 0
	})
	flow, c := s.publish(greeting()), s.client(s.key())
	c.succeed(flow, object{"name": "Ada"})
	s.stop()

	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	s.start()
	if r := c.succeed(flow, object{"name": "Bea"}); r.Outputs["text"] != "Hello Bea!" {
		t.Errorf("after the restoration the flow returns %v", r.Outputs)
	}
	if len(c.want(200, "GET", "/v1/flow/"+flow+"/runs", nil).body) == 0 {
		t.Error("there are no runs")
	}
}

const s3Key, s3Secret = "test-access-key", "test-secret-of-the-access-key"

// startS3 starts an S3 server with the bucket files, and returns its URL and the directory of the bucket.
func startS3(t *testing.T) (base, bucket string) {
	t.Helper()
	program := need.Program(t, "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "files"), 0o755); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(freePort(t))
	cmd := exec.Command(program, "--access", s3Key, "--secret", s3Secret, "--port", addr, "--quiet", "posix", dir)
	out := newProcessOutput()
	cmd.Stdout, cmd.Stderr = out, out
	dieWithTests(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	waitUntil(t, "the S3 server listens", func() bool {
		conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + addr, filepath.Join(dir, "files")
}

// copyProgram copies a program to where every user can run it.
func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755) // #nosec G306
}
