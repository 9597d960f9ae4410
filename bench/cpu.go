package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// spent is processor time used up so far. Rates mean little without it where
// other programs want the same cores.
type spent struct {
	at                    time.Time
	machine, server, self time.Duration
	database              time.Duration
}

// tick is the unit of /proc, the same on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// spent reads the three counters; they stay zero where there is no /proc.
func (s *server) spent() spent {
	return spent{at: time.Now(), machine: machineTime(), server: processTime(s.cmd.Process.Pid), self: processTime(os.Getpid())}
}

// processTime is user and system time of a process and its threads.
func processTime(pid int) time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may hold anything
	return ticks(strings.Fields(rest), 11, 12)
}

// familyTime is the time of a process, of its children, and of children that
// have ended. PostgreSQL has a process for each connection.
func familyTime(pid int) (sum time.Duration) {
	parent := strconv.Itoa(pid)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, _ := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 {
			continue // it has ended
		}
		if fields[1] == parent || path == "/proc/"+parent+"/stat" {
			sum += ticks(fields, 11, 12, 13, 14)
		}
	}
	return sum
}

// machineTime is what all programs used: user, nice, system, interrupts and
// what the host gave to others.
func machineTime() time.Duration {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	return ticks(strings.Fields(line), 1, 2, 3, 6, 7, 8)
}

func ticks(fields []string, which ...int) (sum time.Duration) {
	for _, i := range which {
		if i < len(fields) {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// since says what a call cost the server and the callers, and how much of the
// cores others took meanwhile.
func (before spent) since(s *server, calls int) string {
	now := s.spent()
	if now.machine == 0 || calls == 0 {
		return "processor time unknown"
	}
	server, self := now.server-before.server, now.self-before.self
	others := max(0, now.machine-before.machine-server-self)
	all := now.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	return fmt.Sprintf("CPU per run: server %s, callers %s; others took %.0f %% of the cores",
		ms(server/time.Duration(calls)), ms(self/time.Duration(calls)), 100*float64(others)/float64(all))
}
