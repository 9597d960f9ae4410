package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"sluice/e2e/need"
)

// releases is a file server with one release, whose program is a script that prints its version.
type releases struct {
	*httptest.Server
	archive []byte // what is sent
	sums    string
}

// newReleases serves version 9.9.9 for this machine.
func newReleases(t *testing.T) *releases {
	t.Helper()
	name := "sluice_9.9.9_linux_" + runtime.GOARCH
	r := &releases{archive: archiveOf(t, name, "#!/bin/sh\necho sluice 9.9.9 here\n")}
	r.sums = checksum(r.archive) + "  " + name + ".tar.gz\n"
	mux := http.NewServeMux()
	for _, from := range []string{"/latest/download/", "/download/v9.9.9/"} {
		mux.HandleFunc(from+"SHA256SUMS", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(r.sums)) })
	}
	mux.HandleFunc("/download/v9.9.9/"+name+".tar.gz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(r.archive) })
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// archiveOf returns a compressed archive with a directory that contains a program.
func archiveOf(t *testing.T, name, program string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	a := tar.NewWriter(z)
	header := &tar.Header{Name: name + "/sluice", Mode: 0o755, Size: int64(len(program)), Format: tar.FormatUSTAR}
	if err := a.WriteHeader(header); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte(program)); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// home is the empty home of a user who installs.
type home struct {
	t    *testing.T
	dir  string
	env  []string
	user uint32 // 0 for the user of the test
}

// newHome returns the home of somebody who is not root, for whom releases are at a URL.
func newHome(t *testing.T, url string) *home {
	t.Helper()
	base, err := os.MkdirTemp("", "sluice-install-") // t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	h := &home{t: t, dir: filepath.Join(base, "home")}
	tmp := filepath.Join(base, "tmp")
	for _, dir := range []string{h.dir, tmp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		h.user = 65534
		for _, dir := range []string{h.dir, tmp} {
			if err := os.Chown(dir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.env = []string{"HOME=" + h.dir, "TMPDIR=" + tmp, "PATH=/usr/bin:/bin", "SLUICE_RELEASES=" + url}
	return h
}

// install runs the script, with more environment, and returns what it prints and its exit code.
func (h *home) install(env ...string) (string, int) {
	h.t.Helper()
	script, err := os.ReadFile("install.sh")
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-s") // which other users can run from any directory
	cmd.Stdin, cmd.Dir, cmd.Env = bytes.NewReader(script), "/", append(h.env, env...)
	if h.user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: h.user, Gid: h.user}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		h.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// files returns the files below the home and the temporary directory.
func (h *home) files() (list []string) {
	h.t.Helper()
	out, err := exec.Command("find", filepath.Dir(h.dir), "-mindepth", "2", "-printf", "%P\n").Output()
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Fields(string(out))
}

func onLinux(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("curl")
	need.Tool(t, "the script is tested on Linux with curl", runtime.GOOS == "linux" && err == nil)
}

func TestInstall_installs_the_newest_release_without_root(t *testing.T) {
	t.Parallel()
	onLinux(t)
	h := newHome(t, newReleases(t).URL)
	out, code := h.install()
	if code != 0 || !strings.Contains(out, "Sluice 9.9.9 is installed as "+h.dir+"/.local/bin/sluice.") {
		t.Fatalf("exit %d: %s", code, out)
	}
	if got := strings.Join(h.files(), " "); got != "home/.local home/.local/bin home/.local/bin/sluice" {
		t.Errorf("there is %s", got)
	}
	said, err := exec.Command(h.dir + "/.local/bin/sluice").Output()
	if err != nil || string(said) != "sluice 9.9.9 here\n" {
		t.Errorf("%q, %v", said, err)
	}
	// Again, as an upgrade, and into another directory with a version.
	if out, code := h.install("SLUICE_VERSION=v9.9.9"); code != 0 {
		t.Errorf("again: exit %d: %s", code, out)
	}
	if out, code := h.install("SLUICE_VERSION=9.9.9", "PREFIX="+h.dir+"/opt", "PATH="+h.dir+"/opt/bin:/usr/bin:/bin"); code != 0 || !strings.Contains(out, "Start it: sluice\n") {
		t.Errorf("with PREFIX: exit %d: %s", code, out)
	}
}

func TestInstall_leaves_nothing_behind_when_it_fails(t *testing.T) {
	t.Parallel()
	onLinux(t)
	for name, test := range map[string]struct {
		spoil func(r *releases)
		env   []string
		says  string
	}{
		"a byte was altered": {func(r *releases) { r.archive = bytes.Clone(r.archive); r.archive[len(r.archive)/2] ^= 1 }, nil, "the checksum of sluice_9.9.9_linux_" + runtime.GOARCH + ".tar.gz is wrong"},
		"a byte is missing":  {func(r *releases) { r.archive = r.archive[:len(r.archive)-1] }, nil, "is wrong, so it was not unpacked"},
		"not an archive":     {func(r *releases) { r.archive = []byte("x"); r.sums = checksum(r.archive) + r.sums[64:] }, nil, "cannot be unpacked"},
		"no build":           {func(r *releases) { r.sums = checksum(nil) + "  sluice_9.9.9_plan9_mips.tar.gz\n" }, nil, "has no archive for linux_"},
		"no such version":    {func(*releases) {}, []string{"SLUICE_VERSION=1.0.0"}, "/download/v1.0.0/SHA256SUMS cannot be downloaded"},
		"no releases":        {func(*releases) {}, []string{"SLUICE_RELEASES="}, "no releases are published yet"},
		"no home":            {func(*releases) {}, []string{"HOME="}, "HOME is not set"},
		"not writable":       {func(*releases) {}, []string{"PREFIX=/proc"}, "/proc/bin cannot be written to"},
		"another version":    {func(r *releases) { r.serve(t, "#!/bin/sh\necho sluice 1.0.0 here\n") }, nil, "the program cannot be written to"},
		"does not run":       {func(r *releases) { r.serve(t, "\x7fELF") }, nil, "or does not run there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReleases(t)
			test.spoil(r)
			h := newHome(t, r.URL)
			out, code := h.install(test.env...)
			if code != 1 || !strings.HasPrefix(out, "install.sh: ") || !strings.Contains(out, test.says) || strings.Count(out, "\n") != 1 {
				t.Errorf("exit %d: %s", code, out)
			}
			if files := h.files(); len(files) > 0 {
				t.Errorf("it leaves %v", files)
			}
		})
	}
}

// serve replaces the program of the release.
func (r *releases) serve(t *testing.T, program string) {
	r.archive = archiveOf(t, "sluice_9.9.9_linux_"+runtime.GOARCH, program)
	r.sums = checksum(r.archive) + r.sums[64:]
}

func TestInstall_names_a_platform_without_a_release(t *testing.T) {
	t.Parallel()
	onLinux(t)
	h := newHome(t, newReleases(t).URL)
	tools := filepath.Join(filepath.Dir(h.dir), "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"Linux mips", "Darwin x86_64", "FreeBSD amd64"} {
		name, machine, _ := strings.Cut(system, " ")
		script := fmt.Sprintf("#!/bin/sh\ncase $1 in -s) echo %s ;; -m) echo %s ;; esac\n", name, machine)
		if err := os.WriteFile(filepath.Join(tools, "uname"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, code := h.install("PATH=" + tools + ":/usr/bin:/bin"); code != 1 || !strings.Contains(out, "there is no release for "+name+" on "+machine) {
			t.Errorf("%s: exit %d: %s", system, code, out)
		}
	}
}

// TestInstall_keeps_the_installed_program_on_a_full_disk limits the size of files, which fails like
// a full disk while a file is written.
func TestInstall_keeps_the_installed_program_on_a_full_disk(t *testing.T) {
	t.Parallel()
	onLinux(t)
	r := newReleases(t)
	h := newHome(t, r.URL)
	if out, code := h.install(); code != 0 {
		t.Fatal(out)
	}
	noise := make([]byte, 4<<20)
	for i := range noise {
		noise[i] = byte((i * i) >> 3)
	}
	r.serve(t, "#!/bin/sh\necho sluice 9.9.9 new\nexit\n"+string(noise))
	script, err := os.ReadFile("install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", "ulimit -f 2000; trap '' XFSZ; exec sh -s")
	cmd.Stdin, cmd.Dir, cmd.Env = bytes.NewReader(script), "/", h.env
	if h.user != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: h.user, Gid: h.user}}
	}
	out, err := cmd.CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.HasPrefix(string(out), "install.sh: ") {
		t.Errorf("%v: %s", err, out)
	}
	said, err := exec.Command(h.dir + "/.local/bin/sluice").Output()
	if err != nil || string(said) != "sluice 9.9.9 here\n" {
		t.Errorf("the program of before says %q, %v", said, err)
	}
	if got := strings.Join(h.files(), " "); got != "home/.local home/.local/bin home/.local/bin/sluice" {
		t.Errorf("there is %s", got)
	}
}

// TestScripts checks the scripts with a linter.
func TestScripts(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("shellcheck")
	need.Tool(t, "shellcheck is not installed", err == nil)
	scripts := []string{"install.sh", "dist", "fly-start", "compose-init", "../.ci/run"}
	if out, err := exec.Command("shellcheck", scripts...).CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}
