// Package javascript runs code that people write in flows. A program is an ES2023
// module whose default export is a function of named inputs.
//
// Nothing of a program runs in this process. QuickJS (modernc.org/quickjs, the C
// sources translated to Go) runs it in a child process without files, network or
// environment (package sandbox), which runs one program and ends, so that nothing of
// it is left for the next. Starting a child takes a few milliseconds, so some are
// started ahead once code is used (runner.go).
//
// A program sees a clock that stands still and random numbers from a seed, both
// given with the program (prelude.js). The same program with the same inputs, time and seed
// therefore returns the same value.
package javascript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"
)

const (
	// MaxSource is the maximum size of a program in bytes.
	MaxSource = 256 << 10
	// MaxLog is how many bytes of console output are kept.
	MaxLog = 64 << 10
	// MaxValue is the maximum size in bytes of the inputs, and of the value that a
	// program returns, as JSON.
	MaxValue = 16 << 20
	// MaxMemory is how many bytes the values of a program may take.
	MaxMemory = 128 << 20
	// MaxCPU is how long a program may compute, unless it says otherwise.
	MaxCPU = 10 * time.Second
)

// Program is code with what it is run on.
type Program struct {
	Source string
	Inputs json.RawMessage // a JSON object
	Time   time.Time       // what Date says
	Seed   string          // of Math.random
	CPU    time.Duration   // how long it may compute, on one processor; 0 means MaxCPU
}

// Result is what running a program gave.
type Result struct {
	Value json.RawMessage // nil if the program returned undefined
	Log   string          // what it wrote to the console, the first MaxLog bytes
}

// Error is why a program failed, as a sentence for the person who wrote it.
type Error struct {
	Message string
	Line    int // of the source, counted from 1; 0 if unknown
}

func (e *Error) Error() string { return e.Message }

// tooLong is the error of a program that computed longer than it may.
func (p Program) tooLong(line int) *Error {
	return &Error{fmt.Sprintf("The code computes for more than %v s.", p.cpu().Seconds()), line}
}

func (p Program) cpu() time.Duration { return cmp.Or(p.CPU, MaxCPU) }
