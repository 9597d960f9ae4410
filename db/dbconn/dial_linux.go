package dbconn

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout makes the kernel close a TCP connection whose peer does not
// acknowledge data for peerTimeout. The default of Linux is about 15 minutes.
func setUserTimeout(network, _ string, conn syscall.RawConn) (err error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	controlErr := conn.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(peerTimeout.Milliseconds()))
	})
	if controlErr != nil {
		return controlErr
	}
	return err
}
