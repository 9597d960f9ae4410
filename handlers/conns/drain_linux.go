package conns

import (
	"math"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// handshakeTime is how long a client may take to complete a connection that
	// it has begun: it counts as connected as soon as the kernel has answered it.
	handshakeTime = 100 * time.Millisecond
	// acceptPatience bounds the wait for connections to be accepted.
	acceptPatience = time.Second
)

// refuse makes new connections be refused and returns when those that were made
// are accepted; then the listener can be closed without resetting any. Until
// then something must call Accept.
//
// Closing alone resets what waits in the kernel's queue, although its clients
// have connected and may have sent a request. So the socket is first bound to a
// network interface that does not exist: the kernel finds no listener any more
// for who connects, and the queue stays.
func refuse(l net.Listener) {
	tcp, ok := l.(*net.TCPListener)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BINDTOIFINDEX, math.MaxInt32)
	})
	if err != nil {
		return
	}
	time.Sleep(handshakeTime)
	for begun := time.Now(); queued(raw) > 0 && time.Since(begun) < acceptPatience; {
		time.Sleep(time.Millisecond)
	}
}

// queued is how many connections wait to be accepted. Of a listening socket that
// is what the kernel reports as unacknowledged.
func queued(raw syscall.RawConn) (n uint32) {
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = info.Unacked
		}
	})
	return n
}
