package need

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// buildTimeout bounds the compilation of a program.
const buildTimeout = 15 * time.Minute

// Program returns the path of a program in Go, by the path of its package with a version. It is built
// once into the user's cache directory. If that does not work, the test is skipped; see Tool.
func Program(t testing.TB, source string) string {
	t.Helper()
	name, version, _ := strings.Cut(source, "@")
	name = path.Base(name)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(cache, "sluice-test")
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(home, name+"-"+version)
	lone := flock.New(target + ".lock") // among all test processes of the machine
	if err := lone.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lone.Close() //nolint:errcheck // the process's end lets it go too
	if _, err := os.Stat(target); err == nil {
		return target
	}
	tmp, err := os.MkdirTemp(home, "build-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // renamed away, or left to the next cleaning of caches
	ctx, cancel := context.WithTimeout(t.Context(), buildTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "install", source)
	cmd.Dir, cmd.Env = tmp, append(os.Environ(), "GOBIN="+tmp, "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("go install %s: %v\n%s", source, err, out)
	}
	Tool(t, name+" cannot be built", err == nil)
	if err := os.Rename(filepath.Join(tmp, name), target); err != nil {
		t.Fatal(err)
	}
	return target
}
