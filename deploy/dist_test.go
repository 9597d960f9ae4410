package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/e2e/need"
)

// dist builds a release of this commit for a platform, once for all tests, and returns the directory
// with its files. It clones the repository twice, because a release is built from a clean tag alone, and
// fails if two builds in different directories differ.
var dist = sync.OnceValues(func() (string, error) {
	base, err := os.MkdirTemp("", "sluice-dist-")
	if err != nil {
		return "", err
	}
	built = base
	script := `set -e
git clone -q --no-hardlinks "$1" one/sluice
cd one/sluice
sed -i "s/^## \[Unreleased\]/## [Unreleased]\n\n## [9.9.9] - 2026-01-01/" CHANGELOG.md
git -c user.name=Ada -c user.email=ada@example.com commit -qam "Release 9.9.9"
git tag v9.9.9
cd ../..
git clone -q one/sluice another-directory
for dir in one/sluice another-directory; do make --no-print-directory -C $dir dist VERSION=9.9.9 PLATFORMS="$2" >&2; done
diff -r one/sluice/dist another-directory/dist
`
	root, err := filepath.Abs("..")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("sh", "-c", script, "sh", root, "linux/"+runtime.GOARCH)
	cmd.Dir = base
	if out, err := cmd.CombinedOutput(); err != nil {
		return base, fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(base, "one", "sluice", "dist"), nil
})

// built is the directory of dist, which TestMain removes; "" if no test needed it.
var built string

func buildDist(t *testing.T) string {
	t.Helper()
	need.Slow(t)
	for _, tool := range []string{"git", "make", "gcc", "npm"} {
		_, err := exec.LookPath(tool)
		need.Tool(t, tool+" is not installed", err == nil && runtime.GOOS == "linux")
	}
	dir, err := dist()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

var link = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`)

// TestDist builds a release twice, in different directories, and checks what is in it.
func TestDist(t *testing.T) {
	t.Parallel()
	dir := buildDist(t)
	name := "sluice_9.9.9_linux_" + runtime.GOARCH
	check := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = dir
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != 4 {
		t.Errorf("%v: %s", err, out)
	}
	to := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", filepath.Join(dir, name+".tar.gz"), "-C", to).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	for _, page := range []string{"README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(to, name, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(to, name, m[1])); err != nil && !strings.Contains(m[1], "://") {
				t.Errorf("%s links to %s, which is not in the archive", page, m[1])
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(to, name, "licenses.txt"))
	if err != nil || !bytes.Contains(text, []byte("github.com/mattn/go-sqlite3")) {
		t.Errorf("the licenses are not there: %v", err)
	}
	out, err := exec.Command(filepath.Join(to, name, "sluice"), "version", "--json").Output()
	if err != nil || !bytes.Contains(out, []byte(`"version": "9.9.9"`)) || !bytes.Contains(out, []byte(`"revision": "`)) {
		t.Errorf("%v: %s", err, out)
	}
	for file, purl := range map[string]string{name: "pkg:golang/github.com/riverqueue/river@", "sluice_9.9.9_dashboard": "pkg:npm/htmx.org@"} {
		data, err := os.ReadFile(filepath.Join(dir, file+".cdx.json"))
		var bom struct {
			Format     string `json:"bomFormat"`
			Spec       string `json:"specVersion"`
			Components []struct{ Name, Version, PURL string }
		}
		if err == nil {
			err = json.Unmarshal(data, &bom)
		}
		if err != nil || bom.Format != "CycloneDX" || bom.Spec == "" || len(bom.Components) < 10 || !bytes.Contains(data, []byte(purl)) {
			t.Errorf("%s: %v, %s %s with %d components", file, err, bom.Format, bom.Spec, len(bom.Components))
		}
	}
}

func TestDist_is_built_only_from_a_clean_tag(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("git")
	need.Tool(t, "git is not installed", err == nil)
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script, err := os.ReadFile("dist")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "deploy"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("deploy/dist", string(script))
	write("CHANGELOG.md", "## [1.0.0] - 2026-01-01\n")
	refused := func(version, why string) {
		t.Helper()
		cmd := exec.Command(filepath.Join(dir, "deploy", "dist"), version)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), why) {
			t.Errorf("%q: %v: %s", version, err, out)
		}
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "One")
	refused("", "HEAD is not tagged as a version")
	refused("2.0.0", "CHANGELOG.md has no section for 2.0.0")
	refused("1.0.0", "HEAD is not the tag v1.0.0")
	git("tag", "v1.0.0")
	write("more.txt", "x")
	refused("1.0.0", "there are changes that are not committed")
	git("add", ".")
	git("commit", "-qm", "Two")
	refused("1.0.0", "HEAD is not the tag v1.0.0")
}

// TestInstall_starts_on_an_empty_machine installs a release in a root file system that has nothing
// but a shell and its tools, as a user without rights, and waits for the first response.
func TestInstall_starts_on_an_empty_machine(t *testing.T) {
	t.Parallel()
	dir := buildDist(t)
	busybox := "/bin/busybox"
	_, err := os.Stat(busybox)
	need.Tool(t, "a static busybox is not installed", err == nil)
	need.Tool(t, "only root can change the root directory", os.Getuid() == 0)

	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, prefix := range []string{"/latest/download", "/download/v9.9.9"} {
			if rest, ok := strings.CutPrefix(r.URL.Path, prefix); ok {
				r.URL.Path = rest
				files.ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)

	root, err := os.MkdirTemp("", "sluice-empty-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	setUp := `set -e
chmod 755 "$1"; cd "$1"; mkdir -p bin tmp home dev; cp /bin/busybox bin/; bin/busybox --install -s bin 2>/dev/null || bin/busybox --install bin
for f in bin/*; do if [ -L $f ]; then ln -sf busybox $f; fi; done
mknod -m 666 dev/null c 1 3; mknod -m 666 dev/urandom c 1 9; chmod 1777 tmp; chown 65534:65534 home`
	if out, err := exec.Command("sh", "-c", setUp, "sh", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	confined := func(ctx context.Context, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Path, cmd.Dir = args[0], "/home"
		cmd.Env = []string{"HOME=/home", "PATH=/bin", "SLUICE_RELEASES=" + server.URL, "SLUICE_ADDR=127.0.0.1:0", "SLUICE_LOG=json", "SLUICE_LOCAL_MODELS=off", "NO_PROXY=*"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	began := time.Now()
	script, err := os.ReadFile(filepath.Join(dir, "install.sh"))
	if err != nil {
		t.Fatal(err)
	}
	install := confined(t.Context(), "/bin/sh", "-s")
	install.Stdin = bytes.NewReader(script)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	serve := confined(t.Context(), "/home/.local/bin/sluice")
	log, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	serve.Stderr = io.Discard
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	address := regexp.MustCompile(`http://127\.0\.0\.1:[1-9][0-9]*`)
	var text []byte
	buffer := make([]byte, 4096)
	for address.Find(text) == nil {
		n, err := log.Read(buffer)
		if text = append(text, buffer[:n]...); err != nil {
			t.Fatalf("it ended: %s", text)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	response, err := http.Get(string(address.Find(text)) + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	took := time.Since(began)
	if response.StatusCode != http.StatusOK {
		t.Errorf("the first response is %s", response.Status)
	}
	t.Logf("the first response came %.1f s after the start of install.sh", took.Seconds())
	if took > 30*time.Second {
		t.Errorf("it took %s, more than 30 s", took)
	}
}
