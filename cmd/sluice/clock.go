package main

import (
	"os"
	"time"
)

// skewVariable is the name of an environment variable with the offset of this process's
// clock from the machine's. The linker sets it in builds for tests with clock skew between
// instances; it is empty in releases.
var skewVariable string

// machineNow returns the clock of this process: time.Now, except in tests with clock skew.
// The store adjusts it to the database's clock, which all instances share.
func machineNow() func() time.Time {
	skew, err := time.ParseDuration(os.Getenv(skewVariable))
	if skewVariable == "" || err != nil {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(skew) }
}
