package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pollInterval is the time between scans for changed files. A scan costs a few
// milliseconds and, unlike file system events, works on every file system.
const pollInterval = 400 * time.Millisecond

// server is the Sluice process that the watcher starts and restarts.
type server struct {
	root string
	args []string
	cmd  *exec.Cmd
}

// watch builds and starts Sluice, and rebuilds and restarts it when a source file
// changes. It returns on SIGINT or SIGTERM.
func watch(static string, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := filepath.Abs(filepath.Join(static, ".."))
	if err != nil {
		return err
	}
	s := &server{root: root, args: args}
	defer s.stop()
	seen := map[string]time.Time{}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if changed := changes(root, seen); len(changed) > 0 {
			s.rebuild(static, changed)
			changes(root, seen) // ignores files that rebuild generated
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// rebuild regenerates the assets and views that depend on the changed files and
// restarts the server. It prints errors and then leaves the old server running.
func (s *server) rebuild(static string, changed []string) {
	started := time.Now()
	if hasAnySuffix(changed, ".templ") && !s.run("go", "generate", "./views") {
		return
	}
	if hasAnySuffix(changed, ".ts", ".css", ".svg", "icons.txt") {
		if err := build(static, s.root); err != nil {
			fmt.Fprintln(os.Stderr, "static:", err)
			return
		}
	}
	if !s.run("go", "build", "-o", "bin/sluice-dev", "./cmd/sluice") {
		return
	}
	s.stop()
	s.cmd = s.command(filepath.Join(s.root, "bin/sluice-dev"), s.args...)
	if err := s.cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "static:", err)
		s.cmd = nil
		return
	}
	fmt.Fprintf(os.Stderr, "static: ready after %d ms\n", time.Since(started).Milliseconds())
}

// command returns a command that runs in the repository root with our output.
func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.root, os.Stdout, os.Stderr
	return cmd
}

// run runs a command, prints its error, and reports whether it succeeded.
func (s *server) run(name string, args ...string) bool {
	err := s.command(name, args...).Run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "static: %s %s: %v\n", name, strings.Join(args, " "), err)
	}
	return err == nil
}

// stop sends the server SIGTERM and waits for it to exit, which frees its port.
func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// changes returns the source files that are new or were modified after the time in
// seen, and updates seen.
func changes(root string, seen map[string]time.Time) []string {
	var changed []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the file was removed during the scan
		}
		if d.IsDir() {
			return skipDir(d.Name())
		}
		if !isSource(path) {
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(seen[path]) {
			seen[path] = info.ModTime()
			changed = append(changed, path)
		}
		return nil
	})
	return changed
}

// skipDir returns fs.SkipDir for directories without watched sources.
func skipDir(dir string) error {
	switch dir {
	case "node_modules", ".git", "dist", "data", "bin", "testdata":
		return fs.SkipDir
	}
	return nil
}

// isSource reports whether a change of the file requires a rebuild.
func isSource(path string) bool {
	return !strings.HasSuffix(path, "_test.go") && hasAnySuffix([]string{path}, ".go", ".templ", ".ts", ".css", ".svg", ".sql", "icons.txt")
}

// hasAnySuffix reports whether any of the paths has one of the suffixes.
func hasAnySuffix(paths []string, suffixes ...string) bool {
	for _, p := range paths {
		for _, e := range suffixes {
			if strings.HasSuffix(p, e) {
				return true
			}
		}
	}
	return false
}
