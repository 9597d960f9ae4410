package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build builds the binary of the working tree with the flags of a release. A profiled build
// has one more source file; see profileOverlay.
func build(dir string, profiled bool) (string, error) {
	binary := filepath.Join(dir, "sluice")
	args := []string{"build", "-trimpath", "-ldflags", "-s -w", "-o", binary}
	if profiled {
		overlay, err := profileOverlay(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", overlay)
	}
	return binary, command(".", "go", append(args, "sluice/cmd/sluice")...)
}

// buildCommit builds the binary of a commit in a separate directory, without
// touching the working tree.
func buildCommit(dir, commit string) (string, error) {
	source, err := os.MkdirTemp(dir, "source-")
	if err != nil {
		return "", err
	}
	archive := filepath.Join(source, "source.tar")
	if err := command(".", "git", "archive", "-o", archive, commit); err != nil {
		return "", err
	}
	if err := command(source, "tar", "-xf", archive); err != nil {
		return "", err
	}
	binary := filepath.Join(source, "sluice.bin")
	return binary, command(source, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/sluice")
}

// command runs a program in a directory. An error contains its output, since a failed build
// cannot be understood without it.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}
