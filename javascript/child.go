package javascript

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"time"

	"sluice/sandbox"
)

const (
	// childRole is the role of a child that runs a program; see sandbox.Mark.
	childRole = "code"
	// childMemory is how many bytes a child may take: the values of the program, its
	// inputs and its result once more as text, and Go's runtime.
	childMemory = 512 << 20
	// graceCPU is how many seconds of computing a child has to say that a program took
	// too long, beyond what the program may take.
	graceCPU = 5
)

// frame is one line of what a child writes.
type frame struct {
	Started bool    `json:",omitempty"` // it has the program
	Log     string  `json:",omitempty"` // a line of the console
	Answer  *answer `json:",omitempty"` // the last frame
}

// A process with the role runs one program and ends. This is done here rather than
// in main, so that every binary that holds this package is its own child.
func init() {
	if os.Getenv(sandbox.Mark) == childRole {
		os.Exit(runChild(os.Stdin, os.Stdout))
	}
}

// runChild is the life of a child. Everything that does not depend on the program is
// done first, while the child waits for one: the limits, the machine with its
// prelude, and giving up all access. A child whose parent is gone reads the end of
// its input and ends. It returns the exit code.
func runChild(in io.Reader, out io.Writer) int {
	sandbox.LimitMemory(childMemory)
	write := json.NewEncoder(out)
	logged := 0
	m, err := newMachine(func(line string) {
		if line += "\n"; logged+len(line) > MaxLog {
			line = line[:MaxLog-logged]
		}
		if logged += len(line); line != "" {
			_ = write.Encode(frame{Log: line})
		}
	})
	if err != nil {
		return 1
	}
	sandbox.Process()
	var p Program
	if err := json.NewDecoder(bufio.NewReaderSize(in, 64<<10)).Decode(&p); err != nil {
		return 1
	}
	if write.Encode(frame{Started: true}) != nil {
		return 1
	}
	interruptAt(sandbox.CPUTime()+p.cpu(), m.vm.Interrupt)
	if write.Encode(frame{Answer: m.run(p)}) != nil {
		return 1
	}
	return 0
}

// interruptAt calls interrupt when this process has computed until a time. Only
// computing counts, so that a program that ends on an idle machine also ends on a
// busy one. Should the interrupt not be noticed, the system ends the process.
func interruptAt(end time.Duration, interrupt func()) {
	sandbox.LimitCPU(uint64(end.Seconds()) + graceCPU)
	go func() {
		for left := end - sandbox.CPUTime(); left > 0; left = end - sandbox.CPUTime() {
			time.Sleep(max(left/2, 10*time.Millisecond))
		}
		interrupt()
	}()
}
