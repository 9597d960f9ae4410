package javascript

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"sluice/sandbox"
)

// idleTime is how long children that were started in advance wait for a program.
const idleTime = time.Minute

// Runner runs programs in child processes. It is safe for concurrent use. It starts
// nothing before the first program.
//
// Groups, such as workspaces, share the slots fairly, one program at a time. So that endless
// programs do not hold them until their limit, a program that has used shortCPU moves to one of
// the slots for long programs. If none is free, it is ended, waits for one, and begins
// again there: programs have no effects, and running one again gives the same result.
type Runner struct {
	slots    int
	short    *sandbox.Queue
	long     *sandbox.Queue
	mu       sync.Mutex
	ready    []*child    // started in advance, waiting for a program
	starting int         // number of children being started in advance
	idle     *time.Timer // stops the children in ready
	closed   bool
}

// New returns a Runner that runs as many programs at once as there are processors, from 2 to
// 16.
func New() *Runner {
	slots := min(max(runtime.GOMAXPROCS(0), 2), 16)
	return &Runner{slots: slots, short: sandbox.NewQueue(slots), long: sandbox.NewQueue(slots / 2)}
}

// child is a process that waits for a program or runs one.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// errNotStarted is returned if a child ended before it read the program, for example because
// the OOM killer ended it while it waited.
var errNotStarted = errors.New("the process for code ended before it began")

// maxTries is the maximum number of children that are tried for one program.
const maxTries = 3

// errLong ends a program in a short slot that has to wait for a long one.
var errLong = errors.New("the code waits for a slot for long programs")

// Run runs a program for a group, such as a workspace. Errors caused by the program are
// *Error; the log is returned with them too.
func (r *Runner) Run(ctx context.Context, group string, p Program) (Result, error) {
	if len(p.Inputs) > MaxValue {
		return Result{}, &Error{Message: fmt.Sprintf("The inputs of the code are larger than %d MiB.", MaxValue>>20)}
	}
	result, err := r.runShort(ctx, group, p)
	if !errors.Is(err, errLong) {
		return result, err
	}
	if err := r.long.Acquire(ctx, group); err != nil {
		return Result{}, err
	}
	defer r.long.Release(group)
	return r.runChild(ctx, p, func() error { return nil })
}

// runShort runs a program in a short slot. When it becomes long, it continues in a long slot,
// or ends with errLong if none is free.
func (r *Runner) runShort(ctx context.Context, group string, p Program) (Result, error) {
	if err := r.short.Acquire(ctx, group); err != nil {
		return Result{}, err
	}
	held := r.short
	defer func() { held.Release(group) }()
	return r.runChild(ctx, p, func() error {
		if !r.long.TryAcquire(group) {
			return errLong
		}
		r.short.Release(group)
		held = r.long
		return nil
	})
}

// runChild runs a program in a child. long is called when it has used shortCPU; its error
// ends the program.
func (r *Runner) runChild(ctx context.Context, p Program, long func() error) (Result, error) {
	for try := 1; ; try++ {
		c, err := r.take()
		if err != nil {
			return Result{}, err
		}
		result, err := c.run(ctx, p, long)
		if !errors.Is(err, errNotStarted) || try == maxTries || ctx.Err() != nil {
			return result, err
		}
	}
}

// take returns a waiting child, or else a new one, and starts the next one in advance.
func (r *Runner) take() (*child, error) {
	r.mu.Lock()
	var c *child
	if n := len(r.ready); n > 0 {
		c, r.ready = r.ready[n-1], r.ready[:n-1]
	}
	if !r.closed && len(r.ready)+r.starting < r.slots {
		r.starting++
		go r.startAhead()
	}
	r.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return start()
}

// startAhead starts a child in advance and adds it to ready.
func (r *Runner) startAhead() {
	c, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting--
	switch {
	case err != nil: // the next program starts a child itself and reports the error
	case r.closed:
		c.stop()
	default:
		r.ready = append(r.ready, c)
		if r.idle != nil {
			r.idle.Stop()
		}
		r.idle = time.AfterFunc(idleTime, r.stopReady)
	}
}

// stopReady stops the waiting children.
func (r *Runner) stopReady() {
	r.mu.Lock()
	ready := r.ready
	r.ready = nil
	r.mu.Unlock()
	for _, c := range ready {
		c.stop()
	}
}

// Close stops the waiting children. Running programs end with their contexts.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stopReady()
}

// start starts a child, which waits for a program.
func start() (*child, error) {
	cmd := exec.Command(sandbox.Binary())
	cmd.Env = sandbox.Environment(childRole, "TZ=UTC")
	cmd.Dir = "/"
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to a process for code: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to a process for code: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process for code: %w", err)
	}
	sandbox.LowerPriority(cmd.Process.Pid)
	return &child{cmd, in, bufio.NewReaderSize(out, 64<<10)}, nil
}

// stop kills a child and waits for it.
func (c *child) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // its error is that it was killed
}

// run runs a program in the child, which then exits. long is called when the program has used
// shortCPU; its error ends the program.
func (c *child) run(ctx context.Context, p Program, long func() error) (Result, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })
	defer stop()
	sent := json.NewEncoder(c.in).Encode(p)
	_ = c.in.Close() // an incomplete write shows in the answer
	result, started, err := c.read(long)
	if sent != nil || err != nil {
		_ = c.cmd.Process.Kill()
	}
	ended := c.cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case !started:
		return result, errNotStarted
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return result, p.killed(ended)
	}
	return result, err
}

// killed returns the error for a child that ended without an answer. Systems count CPU time
// in ticks, so the limit and the reported time differ slightly.
func (p Program) killed(ended error) error {
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok && exit.UserTime()+exit.SystemTime() > p.cpu() {
		if p.Check {
			return &Error{Message: fmt.Sprintf(uncheckedMessage, p.cpu().Seconds())}
		}
		return p.tooLong(0)
	}
	return &Error{Message: fmt.Sprintf("The code ended its process. It may take up to %d MiB of memory.", MaxMemory>>20)}
}

// maxOutput bounds the output of a child in bytes: JSON takes up to six bytes for one of a text.
const maxOutput = 6 * (MaxValue + MaxLog + 1<<20)

// read reads frames until the answer.
func (c *child) read(long func() error) (result Result, started bool, err error) {
	frames := json.NewDecoder(io.LimitReader(c.out, maxOutput))
	var log strings.Builder
	for {
		var f frame
		if err := frames.Decode(&f); err != nil {
			result.Log = log.String()
			return result, started, err
		}
		started = started || f.Started
		if f.Long {
			if err := long(); err != nil {
				return result, started, err
			}
		}
		if log.Len()+len(f.Log) <= MaxLog {
			log.WriteString(f.Log)
		}
		if f.Answer == nil {
			continue
		}
		result.Log = log.String()
		if f.Answer.Error != nil {
			return result, started, f.Answer.Error
		}
		if f.Answer.Value != "" {
			result.Value = json.RawMessage(f.Answer.Value)
		}
		return result, started, nil
	}
}
