// Package memory decides how the memory of the process is used. It reads how much there is from the
// control groups of the container, or else from the machine.
package memory

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
	// pages of the binary, and SQLite's caches and copies of a row of up to 30 MiB that it stores,
	// several at a time. At least this, and an eighth.
	outsideGo = 160 << 20
	// memoryPerWorker is the memory in bytes for each concurrent run, by which small machines
	// have fewer workers.
	memoryPerWorker = 4 << 20
	maxWorkers      = 256
	// Sizes of SQLite's cache. A larger one than 64 MiB made nothing faster.
	minPages, maxPages = 8 << 20, 64 << 20
	// unknownMemory is assumed on systems that do not tell their memory.
	unknownMemory = 4 << 30
)

// Min is the least memory in bytes that a server can be given: what an idle one needs, with some room.
const Min = 128 << 20

// Plan says how the memory of the process is used. Sizes are in bytes.
type Plan struct {
	Heap    int64 // Go's limit
	Values  int64 // for values in flight
	Pages   int64 // for SQLite's cache of pages
	Workers int   // concurrent runs
}

// NewPlan divides the memory of the process. total and workers are what the operator has set, or 0.
func NewPlan(total int64, workers int) Plan {
	if total == 0 {
		total = available("/")
	}
	return plan(total, workers)
}

func plan(total int64, workers int) Plan {
	p := Plan{Heap: max(total-max(outsideGo, total/8), total/4), Workers: workers}
	if os.Getenv("GOMEMLIMIT") != "" { // set by hand
		p.Heap = min(p.Heap, debug.SetMemoryLimit(-1))
	}
	p.Values = p.Heap / 8 * 5
	p.Pages = min(max(total/32, minPages), maxPages)
	if p.Workers == 0 {
		p.Workers = int(min(max(total/memoryPerWorker, 1), maxWorkers))
	}
	return p
}

// Apply sets Go's memory limit, unless the operator has: the collector then works harder before the
// container's limit ends the process.
func (p Plan) Apply() {
	returnLargeBlocks()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(p.Heap)
	}
}

// Budget returns the budget of values in flight. Large bodies are kept in the data directory, which
// is a disk; the directory for temporary files may be memory.
func (p Plan) Budget(dataDir string) *inflight.Budget {
	dir := filepath.Join(dataDir, "spool")
	if os.MkdirAll(dir, 0o700) != nil {
		dir = ""
	}
	return inflight.New(p.Values, dir)
}

// available returns the memory of the container or, if that has no limit, of the machine.
// root is the directory of proc and sys.
func available(root string) int64 {
	total := machine(root)
	if limit := container(root); limit > 0 && (total == 0 || limit < total) {
		total = limit
	}
	if total == 0 {
		return unknownMemory
	}
	return total
}

// machine reads MemTotal. It returns 0 on systems without it.
func machine(root string) int64 {
	text, _ := os.ReadFile(filepath.Join(root, "proc/meminfo"))
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// container returns the lowest memory limit of the control groups that the process is in, or
// 0 without one. In a container, the paths in /proc/self/cgroup may be those of the host, which
// it cannot see; its own group is then at the root of the file system.
func container(root string) (limit int64) {
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

// lower returns the lower of two limits. A limit of 0 is unlimited, and so is one near 2^63, which
// version 1 writes.
func lower(a, b int64) int64 {
	if b <= 0 || b >= 1<<60 || a > 0 && a < b {
		return a
	}
	return b
}
