package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"

	"sluice/flow/inflight"
)

const (
	// outsideGo is the memory in bytes that Go's limit does not include and that must remain:
	// pages of the binary, SQLite's caches, stacks of other threads. At least this, and an eighth.
	outsideGo = 96 << 20
	// memoryPerWorker is the memory in bytes for each concurrent run, by which small machines
	// have fewer workers.
	memoryPerWorker = 4 << 20
	maxWorkers      = 256
	// unknownMemory is assumed on systems that do not tell their memory.
	unknownMemory = 4 << 30
)

// memoryPlan says how the memory of the process is used. Sizes are in bytes.
type memoryPlan struct {
	total   int64 // of the container or machine, or SLUICE_MEMORY
	heap    int64 // Go's limit
	values  int64 // for values in flight
	workers int   // concurrent runs
}

// planMemory divides the memory of the process.
func (c *Config) planMemory() memoryPlan {
	p := memoryPlan{total: int64(c.Memory)}
	if p.total == 0 {
		p.total = availableMemory("/")
	}
	p.heap = max(p.total-max(outsideGo, p.total/8), p.total/4)
	if os.Getenv("GOMEMLIMIT") != "" { // set by hand
		p.heap = min(p.heap, debug.SetMemoryLimit(-1))
	}
	p.values = p.heap / 8 * 5
	if p.workers = c.Workers; p.workers == 0 {
		p.workers = int(min(max(p.total/memoryPerWorker, 1), maxWorkers))
	}
	return p
}

// limitHeap sets Go's memory limit, unless the operator has: the collector then works harder
// before the container's limit ends the process.
func (p memoryPlan) limitHeap() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(p.heap)
	}
}

// budget returns the budget of values in flight. Large bodies are kept in the data directory, which
// is a disk; the directory for temporary files may be memory.
func (p memoryPlan) budget(dataDir string) *inflight.Budget {
	dir := filepath.Join(dataDir, "spool")
	if os.MkdirAll(dir, 0o700) != nil {
		dir = ""
	}
	return inflight.New(p.values, dir)
}

// availableMemory returns the memory of the container or, if that has no limit, of the machine.
// root is the directory of proc and sys.
func availableMemory(root string) int64 {
	total := machineMemory(root)
	if limit := containerMemory(root); limit > 0 && (total == 0 || limit < total) {
		total = limit
	}
	if total == 0 {
		return unknownMemory
	}
	return total
}

// machineMemory reads MemTotal. It returns 0 where there is none.
func machineMemory(root string) int64 {
	text, _ := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// containerMemory returns the lowest memory limit of the control groups that the process is in, or
// 0 without one. In a container, the paths in /proc/self/cgroup may be those of the host, which
// it cannot see; its own group is then at the root of the file system.
func containerMemory(root string) (limit int64) {
	text, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3) // ID, controllers, path
		if len(parts) < 3 {
			continue
		}
		switch {
		case parts[1] == "": // version 2
			limit = lower(limit, lowestLimit(filepath.Join(root, "sys/fs/cgroup"), parts[2], "memory.max"))
		case strings.Contains(","+parts[1]+",", ",memory,"):
			limit = lower(limit, lowestLimit(filepath.Join(root, "sys/fs/cgroup/memory"), parts[2], "memory.limit_in_bytes"))
		}
	}
	return limit
}

// lowestLimit returns the lowest limit of a group and its parents.
func lowestLimit(mount, path, file string) (limit int64) {
	for path = filepath.Clean("/" + path); ; path = filepath.Dir(path) {
		text, _ := os.ReadFile(filepath.Join(mount, path, file))
		n, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64) // "max" has no limit, which is 0
		limit = lower(limit, n)
		if path == "/" {
			return limit
		}
	}
}

// lower returns the lower of two limits, of which 0 is none. Version 1 writes a number near 2^63 for
// none.
func lower(a, b int64) int64 {
	if b <= 0 || b >= 1<<60 || a > 0 && a < b {
		return a
	}
	return b
}
