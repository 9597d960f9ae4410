package main

import (
	"os"
	"time"
)

// skewVariable names a variable of the environment that says how far the clock
// of this process is ahead of its machine's. It is set only by the linker, for
// tests of instances whose clocks disagree; releases have no such variable.
var skewVariable string

// machineNow returns the clock of this machine.
func machineNow() func() time.Time {
	skew, err := time.ParseDuration(os.Getenv(skewVariable))
	if skewVariable == "" || err != nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(skew) }
}
