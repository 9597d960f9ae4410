//go:build !linux

package cputime

import "time"

var start = time.Now()

// threadTime returns the elapsed time.
func threadTime() time.Duration { return time.Since(start) }
