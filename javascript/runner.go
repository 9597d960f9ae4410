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

// idleTime is how long children that were started ahead wait for a program.
const idleTime = time.Minute

// Runner runs programs in child processes. It is safe for concurrent use. It starts
// nothing before the first program.
type Runner struct {
	places int
	queue  *sandbox.Queue
	mu     sync.Mutex
	ready  []*child    // started ahead
	coming int         // are being started ahead
	idle   *time.Timer // ends those that are ready
	closed bool
}

// New returns a Runner that runs a program per processor at once, and two at least.
func New() *Runner {
	places := min(max(runtime.GOMAXPROCS(0), 2), 16)
	return &Runner{places: places, queue: sandbox.NewQueue(places)}
}

// child is a process that waits for a program or runs one.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// errNotStarted says that a child ended before it had the program, for example because
// the system took it for its memory while it waited.
var errNotStarted = errors.New("the process for code ended before it began")

// maxTries bounds how many children are tried for one program.
const maxTries = 3

// Run runs a program. Groups, such as workspaces, take turns. An *Error is the
// program's own fault; the log is also returned with it.
func (r *Runner) Run(ctx context.Context, group string, p Program) (Result, error) {
	if len(p.Inputs) > MaxValue {
		return Result{}, &Error{Message: fmt.Sprintf("The inputs of the code are larger than %d MiB.", MaxValue>>20)}
	}
	if err := r.queue.Take(ctx, group); err != nil {
		return Result{}, err
	}
	defer r.queue.Give(group)
	for try := 1; ; try++ {
		c, err := r.take()
		if err != nil {
			return Result{}, err
		}
		result, err := c.run(ctx, p)
		if !errors.Is(err, errNotStarted) || try == maxTries || ctx.Err() != nil {
			return result, err
		}
	}
}

// take returns a child that is ready, or else a new one, and has the next one
// started ahead.
func (r *Runner) take() (*child, error) {
	r.mu.Lock()
	var c *child
	if n := len(r.ready); n > 0 {
		c, r.ready = r.ready[n-1], r.ready[:n-1]
	}
	if !r.closed && len(r.ready)+r.coming < r.places {
		r.coming++
		go r.startAhead()
	}
	r.mu.Unlock()
	if c != nil {
		return c, nil
	}
	return start()
}

// startAhead starts a child that waits.
func (r *Runner) startAhead() {
	c, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coming--
	switch {
	case err != nil: // the next program tries again, and says why
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

// stopReady ends the children that wait.
func (r *Runner) stopReady() {
	r.mu.Lock()
	ready := r.ready
	r.ready = nil
	r.mu.Unlock()
	for _, c := range ready {
		c.stop()
	}
}

// Close ends the children that wait. Programs that run are ended by their contexts.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.stopReady()
}

// start starts a child.
func start() (*child, error) {
	cmd := exec.Command(sandbox.Binary())
	cmd.Env = []string{sandbox.Mark + "=" + childRole, "GOMAXPROCS=2", "TZ=UTC"}
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
	return &child{cmd, in, bufio.NewReaderSize(out, 64<<10)}, nil
}

// stop ends a child and waits for it.
func (c *child) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // it was killed
}

// run runs a program in the child, which ends with it.
func (c *child) run(ctx context.Context, p Program) (Result, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })
	defer stop()
	sent := json.NewEncoder(c.in).Encode(p)
	_ = c.in.Close() // what it was sent shows in the answer
	result, started, err := c.read()
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

// killed words the end of a child that gave no answer. Systems count computing in ticks,
// so what they limit and what they report afterwards differ a little.
func (p Program) killed(ended error) error {
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok && exit.UserTime()+exit.SystemTime() > p.cpu() {
		return p.tooLong(0)
	}
	return &Error{Message: fmt.Sprintf("The code ended its process. It may take up to %d MiB of memory.", MaxMemory>>20)}
}

// maxOutput bounds what is read of a child: JSON may take six bytes for one of a text.
const maxOutput = 6 * (MaxValue + MaxLog + 1<<20)

// read reads frames until the answer.
func (c *child) read() (result Result, started bool, err error) {
	frames := json.NewDecoder(io.LimitReader(c.out, maxOutput))
	var log strings.Builder
	for {
		var f frame
		if err := frames.Decode(&f); err != nil {
			result.Log = log.String()
			return result, started, err
		}
		started = started || f.Started
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
