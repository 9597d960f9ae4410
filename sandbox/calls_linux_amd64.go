package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// archCalls are allowed in addition to allowedCalls.
var archCalls = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_POLL}
