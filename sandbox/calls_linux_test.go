//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// TestCallFilter_permits_only_needed_calls runs the filter on calls. The machine reads numbers in network order, as the
// kernel reads those of struct seccomp_data in the order of the processor.
func TestCallFilter_permits_only_needed_calls(t *testing.T) {
	t.Parallel()
	const pid = 4711
	var raw []bpf.RawInstruction
	for _, f := range callFilter(pid) {
		raw = append(raw, bpf.RawInstruction{Op: f.Code, Jt: f.Jt, Jf: f.Jf, K: f.K})
	}
	program, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatalf("an instruction is unknown: %v", program)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	const (
		allowed = unix.SECCOMP_RET_ALLOW
		refused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		missing = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	for name, c := range map[string]struct {
		arch, call, argument, want uint32
	}{
		"read":                        {auditArch, unix.SYS_READ, 0, allowed},
		"memory":                      {auditArch, unix.SYS_MMAP, 0, allowed},
		"the end":                     {auditArch, unix.SYS_EXIT_GROUP, 0, allowed},
		"a thread":                    {auditArch, unix.SYS_CLONE, unix.CLONE_THREAD | unix.CLONE_VM, allowed},
		"a process":                   {auditArch, unix.SYS_CLONE, uint32(unix.SIGCHLD), refused},
		"clone3":                      {auditArch, unix.SYS_CLONE3, 0, missing},
		"a program":                   {auditArch, unix.SYS_EXECVE, 0, refused},
		"a file":                      {auditArch, unix.SYS_OPENAT, 0, refused},
		"a socket":                    {auditArch, unix.SYS_SOCKET, 0, refused},
		"tracing":                     {auditArch, unix.SYS_PTRACE, 0, refused},
		"memory of another process":   {auditArch, unix.SYS_PROCESS_VM_READV, pid, refused},
		"a user namespace":            {auditArch, unix.SYS_UNSHARE, 0, refused},
		"a kernel program":            {auditArch, unix.SYS_BPF, 0, refused},
		"a ring of calls":             {auditArch, unix.SYS_IO_URING_SETUP, 0, refused},
		"a signal to itself":          {auditArch, unix.SYS_TGKILL, pid, allowed},
		"a signal to another process": {auditArch, unix.SYS_TGKILL, pid + 1, refused},
		"its own limits":              {auditArch, unix.SYS_PRLIMIT64, 0, allowed},
		"limits of another process":   {auditArch, unix.SYS_PRLIMIT64, pid + 1, refused},
		"another architecture":        {auditArch + 1, unix.SYS_READ, 0, refused},
		"the other set of numbers":    {auditArch, unix.SYS_READ | 0x40000000, 0, refused},
	} {
		data := make([]byte, 64)
		binary.BigEndian.PutUint32(data[dataCall:], c.call)
		binary.BigEndian.PutUint32(data[dataArch:], c.arch)
		binary.BigEndian.PutUint32(data[dataArgument:], c.argument)
		if got, err := vm.Run(data); err != nil || uint32(got) != c.want {
			t.Errorf("%s: %#x, %v, want %#x", name, uint32(got), err, c.want)
		}
	}
}
