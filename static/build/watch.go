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

// look is the polling interval. A poll costs a few milliseconds and works on
// every file system.
const look = 400 * time.Millisecond

// server is Sluice while it runs under the watcher.
type server struct {
	root string
	args []string
	cmd  *exec.Cmd
}

// watch builds and starts Sluice, and repeats both after each change of a source
// file.
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
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if changed := changes(root, seen); len(changed) > 0 {
			s.renew(static, changed)
			changes(root, seen) // ignores files that renew generated
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// renew rebuilds what depends on the changed files and restarts the server. On an
// error it prints it and leaves the old server running.
func (s *server) renew(static string, changed []string) {
	started := time.Now()
	if anyOf(changed, ".templ") && !s.run("go", "generate", "./views") {
		return
	}
	if anyOf(changed, ".ts", ".css", ".svg", "icons.txt") {
		if err := build(static); err != nil {
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

func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.root, os.Stdout, os.Stderr
	return cmd
}

func (s *server) run(name string, args ...string) bool {
	err := s.command(name, args...).Run()
	if err != nil {
		fmt.Fprintf(os.Stderr, "static: %s %s: %v\n", name, strings.Join(args, " "), err)
	}
	return err == nil
}

// stop ends the server with SIGTERM and waits, so that its port is free again.
func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	s.cmd = nil
}

// changes returns the source files that are new or newer than in seen, and updates
// seen.
func changes(root string, seen map[string]time.Time) []string {
	var changed []string
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // removed meanwhile
		}
		if d.IsDir() {
			return skip(d.Name())
		}
		if !source(path) {
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

func skip(dir string) error {
	switch dir {
	case "node_modules", ".git", "dist", "data", "bin", "testdata":
		return fs.SkipDir
	}
	return nil
}

func source(path string) bool {
	return !strings.HasSuffix(path, "_test.go") && anyOf([]string{path}, ".go", ".templ", ".ts", ".css", ".svg", ".sql", "icons.txt")
}

func anyOf(paths []string, endings ...string) bool {
	for _, p := range paths {
		for _, e := range endings {
			if strings.HasSuffix(p, e) {
				return true
			}
		}
	}
	return false
}
