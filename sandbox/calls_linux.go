//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowedCalls are the system calls of a process that computes: memory, threads, clocks, and the
// files that are open. Everything else fails with EPERM, so that a fault in a parser or in the
// JavaScript engine reaches little of the kernel. Calls that only start a program are missing,
// because the filter is installed after that. Some arguments are restricted in addition; see
// callFilter.
var allowedCalls = []uint32{
	// open files
	unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_LSEEK, unix.SYS_FSTAT, unix.SYS_FCNTL,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2, unix.SYS_PPOLL,
	// memory
	unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MEMBARRIER,
	// threads
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS, unix.SYS_GETPID, unix.SYS_GETTID,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL,
	// signals
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK,
	// clocks and counters
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRUSAGE, unix.SYS_GETCPU, unix.SYS_GETRANDOM,
}

// Offsets in struct seccomp_data of the kernel.
const (
	dataCall     = 0
	dataArch     = 4
	dataArgument = 16 // the lower half of the first argument, on little-endian machines
)

// callFilter returns the filter as a program of the kernel's packet filter. It returns EPERM
// rather than ending the process, so that the Go runtime, which tries some calls only because they
// may help, works. pid is this process.
func callFilter(pid uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	// unless skips the following instructions if the loaded value is not k.
	unless := func(k uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: k}
	}
	answer := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	allow, refuse := answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	program := []unix.SockFilter{
		load(dataArch), unless(auditArch, 1), {Code: unix.BPF_JMP | unix.BPF_JA, K: 1}, refuse, load(dataCall),
		// The arguments of clone3 are in memory, which a filter cannot read. As after ENOSYS
		// from an old kernel, threads are started with clone.
		unless(unix.SYS_CLONE3, 1), answer(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		// clone starts threads, but no processes.
		unless(unix.SYS_CLONE, 4), load(dataArgument), {Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: unix.CLONE_THREAD}, allow, refuse,
		// Signals reach only this process, and limits change only its own.
		unless(unix.SYS_TGKILL, 4), load(dataArgument), unless(pid, 1), allow, refuse,
		unless(unix.SYS_PRLIMIT64, 4), load(dataArgument), unless(0, 1), allow, refuse,
	}
	for _, call := range slices.Concat(allowedCalls, archCalls) {
		program = append(program, unless(call, 1), allow)
	}
	return append(program, refuse)
}

// filterCalls permanently restricts the system calls of this process, with all its threads. It
// requires no_new_privs, and returns why it could not.
func filterCalls() string {
	if !mayFilter {
		return "the race detector needs more system calls"
	}
	filter := callFilter(uint32(os.Getpid()))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	switch {
	case errno == unix.ENOSYS || errno == unix.EINVAL:
		return "the kernel has no seccomp filters"
	case errno != 0:
		return "seccomp: " + errno.Error()
	case thread != 0:
		return "seccomp: a thread has another filter"
	}
	return ""
}
