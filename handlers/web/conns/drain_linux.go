package conns

import (
	"math"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// handshakeTime is how long a client may take to complete a TCP handshake.
	// A client considers itself connected as soon as the kernel has replied.
	handshakeTime = 100 * time.Millisecond
	// acceptPatience bounds the wait for connections to be accepted.
	acceptPatience = time.Second
)

// refuse rejects new connections and returns when all established ones are
// accepted; the listener can then be closed without resetting any. The caller
// must keep calling Accept until then.
//
// Closing the listener would reset the connections in the kernel's queue,
// although their clients have connected and may have sent a request. So the
// socket is first bound to a network interface that does not exist: the kernel
// finds no listener for new connections, and the queue stays.
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

// queued returns how many connections wait to be accepted. For a listening
// socket the kernel reports this number as unacknowledged.
func queued(raw syscall.RawConn) (n uint32) {
	_ = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			n = info.Unacked
		}
	})
	return n
}
