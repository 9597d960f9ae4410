package main

import (
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// profiled is a source file that is added to profiled builds: releases serve profiles only
// on the metrics address and cannot write them to a file.
//
//go:embed profiled.go.txt
var profiled []byte

// profileOverlay writes an overlay that adds the file to package main of Sluice; see
// "go help build".
func profileOverlay(dir string) (string, error) {
	source := filepath.Join(dir, "profiled.go")
	if err := os.WriteFile(source, profiled, 0o600); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", "sluice/cmd/sluice").Output()
	if err != nil {
		return "", err
	}
	into := filepath.Join(strings.TrimSpace(string(out)), "profiled.go")
	data, err := json.Marshal(map[string]any{"Replace": map[string]string{into: source}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}

// profiling runs f while the server writes its profile. SIGUSR1 starts the profile and ends
// it; the file appears under its name once it is complete.
func (b *benchmark) profiling(s *server, f func()) {
	if b.profile == "" {
		f()
		return
	}
	_ = os.Remove(b.profile)
	_ = s.cmd.Process.Signal(syscall.SIGUSR1)
	f()
	_ = s.cmd.Process.Signal(syscall.SIGUSR1)
	for range 1000 {
		if _, err := os.Stat(b.profile); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
