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

// cpuTime reads the processor time of the machine, the server and this process.
type cpuTime struct {
	at                    time.Time
	machine, server, self time.Duration
	database              time.Duration
}

// tick is the unit of times in /proc, the same on every Linux that Go supports.
const tick = 10 * time.Millisecond

// cpuTime returns the processor time used so far by the whole machine, the server and
// this program. If the machine used much more than both, other programs disturbed the
// measurement.
func (s *server) cpuTime() cpuTime {
	return cpuTime{at: time.Now(), machine: machineTime(), server: processTime(s.cmd.Process.Pid), self: processTime(os.Getpid())}
}

// statFields returns the fields of a /proc/PID/stat after the program's name, which
// may contain spaces: the state, the parent and so on, see proc_pid_stat(5).
func statFields(path string) []string {
	stat, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(rest)
}

// processTime returns the user and system time of a process and its threads.
func processTime(pid int) time.Duration {
	return ticks(statFields(fmt.Sprintf("/proc/%d/stat", pid)), 11, 12)
}

// familyTime returns the time of a process, of its children, and of children that
// have ended. PostgreSQL has a process for each connection, and the kernel adds the time
// of ended ones to their parent's.
func familyTime(pid int) (sum time.Duration) {
	parent := strconv.Itoa(pid)
	paths, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range paths {
		fields := statFields(path) // empty if the process has ended
		if len(fields) > 1 && (fields[1] == parent || path == "/proc/"+parent+"/stat") {
			sum += ticks(fields, 11, 12, 13, 14)
		}
	}
	return sum
}

// machineTime returns the time of all programs: user, nice, system, interrupts and
// the time that the hypervisor gave to other machines (steal). Idle time and waiting for
// disks are left out.
func machineTime() time.Duration {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	return ticks(strings.Fields(line), 1, 2, 3, 6, 7, 8)
}

// ticks returns the sum of fields that are times.
func ticks(fields []string, which ...int) (sum time.Duration) {
	for _, i := range which {
		if i < len(fields) {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			sum += time.Duration(n) * tick
		}
	}
	return sum
}

// since describes the processor time of the server and the callers per call, and
// the share of the cores that other programs took meanwhile.
func (before cpuTime) since(s *server, calls int) string {
	now := s.cpuTime()
	if now.machine == 0 || calls == 0 {
		return "processor time unknown"
	}
	server, self := now.server-before.server, now.self-before.self
	others := max(0, now.machine-before.machine-server-self)
	all := now.at.Sub(before.at) * time.Duration(runtime.NumCPU())
	return fmt.Sprintf("CPU per run: server %s, callers %s; others took %.0f %% of the cores",
		ms(server/time.Duration(calls)), ms(self/time.Duration(calls)), 100*float64(others)/float64(all))
}
