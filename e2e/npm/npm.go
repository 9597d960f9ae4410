// Package npm installs the npm packages that tests use as independent validators. It
// owns their cache and makes concurrent installations safe. It must not know what the
// packages do.
package npm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"sluice/e2e/need"
)

// installTimeout bounds one npm ci; the largest package has 16 MB.
const installTimeout = 5 * time.Minute

// Install makes the packages of dir, which holds package.json and
// package-lock.json, available and returns their node_modules. They are in the
// user's cache directory and are downloaded once per lock file. Without Node, npm or
// the registry the test is skipped; see package need.
func Install(t testing.TB, dir string) (nodeModules string) {
	t.Helper()
	need.Time(t)
	for _, tool := range []string{"node", "npm"} {
		_, err := exec.LookPath(tool)
		need.Tool(t, tool+" is not installed", err == nil)
	}
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	home := filepath.Join(cache, "sluice-test")
	target := filepath.Join(home, "npm-"+hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(home, 0o755); err != nil {
		t.Fatal(err)
	}
	lone := flock.New(target + ".lock") // among all test processes of the machine
	if err := lone.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lone.Close() //nolint:errcheck // the process's end lets it go too
	if _, err := os.Stat(target); err != nil {
		fetch(t, dir, home, target)
	}
	return filepath.Join(target, "node_modules")
}

// fetch installs into a temporary directory and renames it, so that the target is
// always complete.
func fetch(t testing.TB, dir, home, target string) {
	t.Helper()
	tmp, err := os.MkdirTemp(home, "fetch-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // renamed away, or left to the next cleaning of caches
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = tmp
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("npm ci: %v\n%s", err, out)
	}
	need.Tool(t, "npm packages cannot be fetched", err == nil)
	if err := os.Rename(tmp, target); err != nil {
		t.Fatal(err)
	}
}
