package main

import (
	"os"
	"time"
)

// skewVariable names an environment variable that holds how far this process's
// clock is ahead of the machine's. Only the linker sets it, for tests with
// clock skew between instances; releases have no such variable.
var skewVariable string

// machineNow returns the clock of this process: time.Now except in such tests. The
// store corrects it by the database's clock, on which all instances agree.
func machineNow() func() time.Time {
	skew, err := time.ParseDuration(os.Getenv(skewVariable))
	if skewVariable == "" || err != nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(skew) }
}
