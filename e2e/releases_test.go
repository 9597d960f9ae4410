package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// previousCommit names the file with the commit of the previous release, until there is a
// tag for it.
const previousCommit = "testdata/previous-release"

// previousRelease returns the binary of the release before this one: that of the
// newest version tag, or of a recorded commit. The test is skipped if the history
// does not have the commit.
func previousRelease(t *testing.T) string {
	t.Helper()
	commit := git(".", "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*.[0-9]*.[0-9]*", "--exclude", "*-*", "HEAD^")
	if commit == "" {
		text, err := os.ReadFile(previousCommit)
		if err != nil {
			t.Fatal(err)
		}
		commit = strings.TrimSpace(string(text))
	}
	return releaseOf(t, commit)
}

// builds are the binaries of releases, each built once.
var builds sync.Map // commit → func() (string, error)

// releaseOf builds the program at a commit. The binary is cached in the user's cache
// directory, since a build takes half a minute.
func releaseOf(t *testing.T, revision string) string {
	t.Helper()
	commit := git(".", "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	if commit == "" {
		t.Skipf("omitted: the history has no %s, so the release before this one cannot be built; fetch the whole history (git fetch --unshallow --tags)", revision)
	}
	build, _ := builds.LoadOrStore(commit, sync.OnceValues(func() (string, error) { return buildRelease(commit) }))
	path, err := build.(func() (string, error))()
	if err != nil {
		t.Fatalf("build %s: %v", revision, err)
	}
	return path
}

func buildRelease(commit string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "sluice-e2e")
	path := filepath.Join(dir, fmt.Sprintf("%s-%s-%s-%s", commit[:12], runtime.GOOS, runtime.GOARCH, runtime.Version()))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	source, err := os.MkdirTemp(dir, "source-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(source)
	archive := filepath.Join(source, "source.tar")
	// The paths of the source are no part of the binary, so that the build cache
	// serves the next build, wherever its source lies.
	for _, cmd := range []*exec.Cmd{
		exec.Command("git", "-C", "..", "archive", "--output", archive, commit),
		exec.Command("tar", "-x", "-f", archive, "-C", source),
		exec.Command("go", "build", "-C", source, "-trimpath", "-buildvcs=false", "-ldflags", "-X main.release=0.0.0-previous", "-o", filepath.Join(source, "built"), "./cmd/sluice"),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return path, os.Rename(filepath.Join(source, "built"), path)
}

// git returns what a git command prints, "" if it fails.
func git(dir string, args ...string) string {
	out, _ := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	return strings.TrimSpace(string(out))
}
