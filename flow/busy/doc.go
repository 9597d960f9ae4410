// Package busy records which runs work inside this process, in memory that
// survives a crash of the process. It does not decide what follows from that.
package busy
