package e2e

import (
	"os/exec"
	"syscall"
)

// dieWithTests lets the kernel end a server if its tests are killed.
func dieWithTests(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
