package documents

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"sluice/sandbox"
)

// try makes the attempts, which a confined reader must not succeed in.
func (what *attempts) try(held sandbox.State) *attempted {
	a := &attempted{Held: held}
	for _, path := range what.Files {
		f, err := os.Open(path)
		if err == nil {
			err = f.Close()
		}
		a.Files = append(a.Files, textOf(err))
	}
	for _, dir := range what.Write {
		f, err := os.CreateTemp(dir, "")
		if err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
		a.Write = append(a.Write, textOf(err))
	}
	a.TCP = textOf(reach(unix.SOCK_STREAM, what.TCP, func(socket int, to unix.Sockaddr) error { return unix.Connect(socket, to) }))
	a.UDP = textOf(reach(unix.SOCK_DGRAM, what.UDP, func(socket int, to unix.Sockaddr) error { return unix.Sendto(socket, []byte("x"), 0, to) }))
	var system unix.Utsname
	var limit unix.Rlimit
	a.Calls = []string{
		textOf(unix.Kill(what.Parent, 0)), textOf(unix.Prlimit(what.Parent, unix.RLIMIT_NOFILE, nil, &limit)), textOf(unix.Uname(&system)),
	}
	return a
}

// reach opens a socket and uses it to reach a port on 127.0.0.1. It returns the error of
// the system call that failed, or nil.
func reach(kind, port int, how func(int, unix.Sockaddr) error) error {
	socket, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	err = how(socket, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	return cmp.Or(err, unix.Close(socket))
}

// textOf returns the message of an error, or "" for nil, which means that an attempt
// succeeded.
func textOf(err error) string {
	if err != nil {
		return err.Error()
	}
	return ""
}

// ports are open TCP and UDP ports on 127.0.0.1 for attempts.
type ports struct {
	listener net.Listener
	socket   net.PacketConn
	tcp, udp int
}

// openPorts listens on the loopback interface, so that there are ports that a child could
// reach if it were not confined. The caller must close them.
func openPorts() (*ports, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for a reader: %w", err)
	}
	socket, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("listen for a reader: %w", err)
	}
	return &ports{listener, socket, listener.Addr().(*net.TCPAddr).Port, socket.LocalAddr().(*net.UDPAddr).Port}, nil
}

// close closes both ports. Errors do not matter, because nothing was sent.
func (p *ports) close() {
	_ = p.listener.Close()
	_ = p.socket.Close()
}
