package documents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"sluice/sandbox"
)

// maxChildren bounds the number of concurrent children. Each uses at most childMemory, so
// together they use at most 1 GiB of memory.
const maxChildren = 2

// Config configures a Reader.
type Config struct {
	// CacheDir keeps the compiled PDF engine; it may be deleted at any time. If
	// it is empty, the cache of the user is used.
	CacheDir string
	// Working, if set, is called with false when a document waits for a child and
	// with true when it has been read.
	Working func(ctx context.Context, working bool)
}

// Reader reads documents in child processes. It is safe for concurrent use.
type Reader struct {
	queue   *sandbox.Queue
	engine  *engineCache
	working func(context.Context, bool)
}

// New returns a Reader. It starts nothing and touches no files.
func New(c Config) *Reader {
	working := c.Working
	if working == nil {
		working = func(context.Context, bool) {}
	}
	return &Reader{queue: sandbox.NewQueue(maxChildren), engine: &engineCache{dir: c.CacheDir}, working: working}
}

// Read reads content in a child process that ends with ctx. Groups, such as
// workspaces, share the slots fairly. All content is read before a slot is taken, so a slow
// sender does not block others. keep is called for each requested image; its error ends
// reading. An *Error can be shown to users.
func (r *Reader) Read(ctx context.Context, group string, req Request, content io.Reader, keep func(Image) error) (*Document, error) {
	head, err := json.Marshal(job{Request: req})
	if err != nil {
		return nil, fmt.Errorf("encode a request: %w", err)
	}
	input, err := spool(ctx, append(head, '\n'), content)
	if err != nil {
		return nil, err
	}
	defer input.close()
	r.working(ctx, false)
	if err := r.queue.Acquire(ctx, group); err != nil {
		return nil, err
	}
	defer r.queue.Release(group)
	doc, err := r.readSpooled(ctx, req, input, len(head)+1, keep)
	if err == nil {
		r.working(ctx, true)
	}
	return doc, err
}

// readSpooled starts a child. If it finds the compiled engine damaged, the engine
// is compiled again, once. The input is rewound before each child, because all processes
// share one file offset: the second child would continue where the first one stopped.
func (r *Reader) readSpooled(ctx context.Context, req Request, input *spooled, content int, keep func(Image) error) (*Document, error) {
	isPDF, err := input.isPDF(content)
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		var dir string
		if isPDF && !req.WebPage {
			if dir, err = r.engine.prepare(ctx); err != nil {
				return nil, err
			}
		}
		if _, err := input.Seek(0, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read a spooled document: %w", err)
		}
		doc, err := runChild(ctx, dir, input.File, keep)
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == exitNoEngine && !again && ctx.Err() == nil {
			r.engine.discard(dir)
			continue
		}
		return doc, childError(ctx, err, cmp.Or(req.CPU, childCPU))
	}
}

// runChild runs a child on input, with the compiled PDF engine in a directory if
// it needs that. The input is a file rather than a pipe, so the child gets the
// descriptor itself and no goroutine copies; a confined child can read it because
// Landlock checks when a file is opened, not when it is read.
//
// The error is why the answer could not be read. If the answer is complete, or
// ended early, a child that failed counts instead: its *exec.ExitError says more.
func runChild(ctx context.Context, engineDir string, input *os.File, keep func(Image) error) (*Document, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, sandbox.Binary())
	cmd.Env = childEnvironment(engineDir)
	cmd.Dir = os.TempDir()
	cmd.Stdin = input
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to a document reader: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a document reader: %w", err)
	}
	doc, err := readAnswer(out, keep)
	if err != nil {
		cancel() // the child may be blocked writing an answer that is no longer read
	}
	if ended := cmd.Wait(); err == nil || errors.Is(err, errNoAnswer) && ended != nil {
		err = ended
	}
	return doc, err
}

// childEnvironment returns the complete environment of a child. It inherits no variables,
// which could contain secrets.
func childEnvironment(engineDir string) []string {
	if engineDir == "" {
		return sandbox.Environment(childRole)
	}
	return sandbox.Environment(childRole, engineMark+"="+engineDir)
}

// childError explains why a child ended without an answer. seconds is its limit of CPU time.
// Systems count CPU time in ticks, so the limit and the reported time differ a little.
func childError(ctx context.Context, err error, seconds int) error {
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		return nil
	case !ended:
		return err
	case exit.UserTime()+exit.SystemTime() > time.Duration(seconds)*time.Second*3/4:
		return refuse("The document takes too long to read: more than %d s of computing. Save it again with another program, or split it.", seconds)
	case exit.ExitCode() == exitNoEngine:
		return fmt.Errorf("the PDF engine does not start: %w", err)
	}
	return errGaveUp
}

// errGaveUp is returned when reading ended early for an unknown reason. Which limit a hostile
// or broken document reaches first depends on the speed of the machine.
var errGaveUp = refuse("The document could not be read: it is damaged, or takes more memory than reading may take. Save it again with another program, or split it.")
