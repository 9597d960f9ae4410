//go:build !linux

package conns

import "net"

// refuse does nothing: only Linux can refuse connections before a listener is
// closed.
func refuse(net.Listener) {}
