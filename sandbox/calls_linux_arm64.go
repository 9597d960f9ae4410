package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

// archCalls are allowed in addition to allowedCalls.
var archCalls []uint32
