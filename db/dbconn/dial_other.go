//go:build !linux

package dbconn

import "syscall"

// setUserTimeout does nothing, because the option exists only on Linux. Keepalives
// and answerTimeout also detect a dead peer, but later.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
