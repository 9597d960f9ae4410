//go:build !linux

package dbconn

import "syscall"

// setUserTimeout does nothing: there is no such option outside of Linux.
// Keepalives and answerTimeout find a dead peer as well, only later.
func setUserTimeout(string, string, syscall.RawConn) error { return nil }
