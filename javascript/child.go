package javascript

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"sync"
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
	graceCPU = 2
)

// frame is one line of a child's output.
type frame struct {
	Started bool    `json:",omitempty"` // the child has read the program
	Long    bool    `json:",omitempty"` // the program has used shortCPU
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
	frames, mu := json.NewEncoder(out), sync.Mutex{}
	write := func(f frame) error {
		mu.Lock()
		defer mu.Unlock()
		return frames.Encode(f)
	}
	logged := 0
	m, err := newMachine(func(line string) {
		if line += "\n"; logged+len(line) > MaxLog {
			line = line[:MaxLog-logged]
		}
		if logged += len(line); line != "" {
			_ = write(frame{Log: line})
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
	if write(frame{Started: true}) != nil {
		return 1
	}
	begin := sandbox.CPUTime()
	sandbox.LimitCPU(uint64((begin + p.cpu()).Seconds()) + graceCPU)
	answer := m.run
	if p.Check {
		answer = m.check
		go atCPU(begin+p.cpu(), func() { os.Exit(1) }) // the compiler cannot be interrupted
	} else {
		go func() {
			atCPU(begin+shortCPU, func() { _ = write(frame{Long: true}) })
			atCPU(begin+p.cpu(), m.vm.Interrupt)
		}()
	}
	if write(frame{Answer: answer(p)}) != nil {
		return 1
	}
	return 0
}

// atCPU calls f when the CPU time of this process reaches end. CPU time makes a limit
// independent of the load of the machine. If an interrupt is not noticed, the system ends
// the process (sandbox.LimitCPU).
func atCPU(end time.Duration, f func()) {
	for left := end - sandbox.CPUTime(); left > 0; left = end - sandbox.CPUTime() {
		time.Sleep(max(left/2, 10*time.Millisecond))
	}
	f()
}
