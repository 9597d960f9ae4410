package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes where and when the figures were measured. Figures without this line
// cannot be compared with others.
func machine(dir string) string {
	return fmt.Sprintf("%s, %d cores, %s, data on %s; %s; Sluice %s; %s. Server and callers share the cores.",
		cpu(), runtime.NumCPU(), runtime.GOOS+"/"+runtime.GOARCH, filesystem(dir), runtime.Version(), revision(), time.Now().UTC().Format("2006-01-02"))
}

// cpu returns the name of the processor.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.SplitSeq(string(info), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// filesystem returns the type of the file system. It matters because syncing costs
// nothing on one in memory.
func filesystem(dir string) string {
	out, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
	if err != nil {
		return "unknown file system"
	}
	return strings.TrimSpace(string(out))
}

// revision returns the commit of the working tree.
func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "of unknown revision"
	}
	return strings.TrimSpace(string(out))
}
