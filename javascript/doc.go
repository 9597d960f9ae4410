// Package javascript runs code that users write in flows. A program is an ES2023
// module whose default export is a function of named inputs.
//
// Nothing of a program runs in this process. QuickJS (modernc.org/quickjs, the C
// sources translated to Go) runs it in a child process without files, network or
// environment (package sandbox), which runs one program and exits, so that programs
// cannot affect each other. Starting a child takes a few milliseconds, so some are
// started in advance once code is used (runner.go).
//
// A program has a fixed clock and random numbers from a seed, both passed with the
// program (prelude.js). The same program with the same inputs, time and seed
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
	// MaxLog is the maximum size of the stored console output in bytes.
	MaxLog = 64 << 10
	// MaxValue is the maximum size in bytes of the inputs, and of the value that a
	// program returns, as JSON.
	MaxValue = 16 << 20
	// MaxMemory is the memory limit for the values of a program in bytes.
	MaxMemory = 128 << 20
	// MaxCPU is the default limit of a program's CPU time.
	MaxCPU = 10 * time.Second
	// CheckCPU is the limit of CPU time for checking a program.
	CheckCPU = time.Second
	// shortCPU is the CPU time after which a program counts as long; see Runner.
	shortCPU = 500 * time.Millisecond
)

// Program is code with its inputs and limits.
type Program struct {
	Source string
	Inputs json.RawMessage // a JSON object
	Time   time.Time       // current time according to Date
	Seed   string          // seed of Math.random
	CPU    time.Duration   // limit of CPU time; 0: MaxCPU
	Check  bool            // compile it only
}

// Result is the result of a program.
type Result struct {
	Value json.RawMessage // nil if the program returned undefined
	Log   string          // the first MaxLog bytes of console output
}

// Error is an error caused by the program. Message is a sentence for its author.
type Error struct {
	Message string
	Line    int // line of the source, from 1; 0 if unknown
}

func (e *Error) Error() string { return e.Message }

// tooLong returns the error for a program that exceeded its CPU time.
func (p Program) tooLong(line int) *Error {
	return &Error{fmt.Sprintf("The code took more than %v s of CPU time.", p.cpu().Seconds()), line}
}

func (p Program) cpu() time.Duration { return cmp.Or(p.CPU, MaxCPU) }
