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
	// childMemory is the memory limit of a child in bytes: the values of the program,
	// its inputs and result again as text, and the Go runtime.
	childMemory = 512 << 20
	// graceCPU is the CPU time in seconds, in addition to that of the program, in which
	// a child can report that the program exceeded its limit.
	graceCPU = 5
)

// frame is one line of a child's output.
type frame struct {
	Started bool    `json:",omitempty"` // the child has read the program
	Log     string  `json:",omitempty"` // a line of the console
	Answer  *answer `json:",omitempty"` // the last frame
}

// A process with the role runs one program and exits. Doing this in init rather than
// in main makes every binary that contains this package, such as a test, its own child.
func init() {
	if os.Getenv(sandbox.Mark) == childRole {
		os.Exit(runChild(os.Stdin, os.Stdout))
	}
}

// runChild is the main function of a child and returns its exit code. It first does
// everything that does not depend on the program: it sets the limits, creates the
// machine, runs the prelude and gives up all access. Then it waits for a program. If
// the parent is gone, it reads the end of its input and exits.
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

// interruptAt calls interrupt when the CPU time of this process reaches end. CPU time
// makes the limit independent of the load of the machine. If the interrupt is not
// noticed, the system ends the process (sandbox.LimitCPU).
func interruptAt(end time.Duration, interrupt func()) {
	sandbox.LimitCPU(uint64(end.Seconds()) + graceCPU)
	go func() {
		for left := end - sandbox.CPUTime(); left > 0; left = end - sandbox.CPUTime() {
			time.Sleep(max(left/2, 10*time.Millisecond))
		}
		interrupt()
	}()
}
