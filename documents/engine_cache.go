package documents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sluice/documents/pdfium"
	"sluice/flow/wording"
	"sluice/sandbox"
)

const (
	// compileMark is the environment variable with the directory into which a process
	// compiles the PDF engine.
	compileMark = "SLUICE_COMPILES_PDF_ENGINE"
	// compileTime is the time limit for compiling, which takes about four seconds of CPU
	// time, and many times as long on a busy machine. It only ends a process that hangs.
	compileTime  = 20 * time.Minute
	enginePrefix = "pdf-engine-"
)

// engineCache keeps the compiled PDF engine in a directory. The engine is compiled
// when the first PDF is read, in a separate process, so that a server that reads no
// PDFs has no cost, and one that does releases the memory afterwards.
//
// Documents that arrive while it compiles wait for the same compilation, as with
// singleflight. A failure is returned to all waiting callers and is not cached: the
// next document tries again, because a full disk may have space by then.
//
// The directory is named by the hash of the module, so versions of Sluice with
// different modules never load each other's engine from a shared cache. Each deletes the
// engines of the others; a process of another version that still runs then compiles its
// engine again (see discard).
type engineCache struct {
	dir string

	mu        sync.Mutex
	compiling chan struct{} // closed when a compilation ends; nil without one
	ready     string        // directory that holds the engine; "" before the first need
	err       error         // of the last compilation
}

// prepare returns the directory of the compiled engine. It waits for a
// compilation, which continues when ctx ends: the next document needs it, too.
func (c *engineCache) prepare(ctx context.Context) (string, error) {
	c.mu.Lock()
	if c.ready != "" {
		defer c.mu.Unlock()
		return c.ready, nil
	}
	if c.compiling == nil {
		c.compiling = make(chan struct{})
		go c.compile(context.WithoutCancel(ctx), c.compiling)
	}
	done := c.compiling
	c.mu.Unlock()
	select {
	case <-done:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready, c.err
}

// compile publishes the result of compileNow to all callers that wait on done.
func (c *engineCache) compile(ctx context.Context, done chan struct{}) {
	dir, err := c.compileNow(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ready, c.err, c.compiling = dir, err, nil
	close(done)
}

// compileNow compiles the engine unless the directory already contains an intact one.
func (c *engineCache) compileNow(ctx context.Context) (string, error) {
	base, err := c.base()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(base, enginePrefix+pdfium.Version())
	if err = runCompiler(ctx, dir); err != nil {
		if err := os.RemoveAll(dir); err != nil {
			return "", fmt.Errorf("delete a damaged PDF engine: %w", err)
		}
		err = runCompiler(ctx, dir)
	}
	if err != nil {
		return "", err
	}
	removeOthers(base, dir)
	return dir, nil
}

// base returns the absolute path of the directory that contains the engines.
func (c *engineCache) base() (string, error) {
	if c.dir != "" {
		return filepath.Abs(c.dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a directory for the compiled PDF engine: %w", err)
	}
	return filepath.Join(dir, "sluice"), nil
}

// runCompiler compiles the engine into a directory, in a separate process.
func runCompiler(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, compileTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, sandbox.Binary())
	cmd.Env = []string{compileMark + "=" + dir, "GOMAXPROCS=2"}
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("compile the PDF engine into %s: %w: %s", dir, err, wording.Truncate(strings.TrimSpace(string(out)), 300))
	}
	return nil
}

// compileEngine is the main function of a process that compiles the engine.
func compileEngine(dir string) int {
	if err := pdfium.Prepare(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// removeOthers deletes the engines of other versions of Sluice.
func removeOthers(base, dir string) {
	others, _ := filepath.Glob(filepath.Join(base, enginePrefix+"*")) // the pattern is valid
	for _, other := range others {
		if other != dir {
			_ = os.RemoveAll(other) // a leftover only takes space
		}
	}
}

// discard forgets an engine that a child found damaged and deletes it. When two
// children find the same damage, the first call discards it; the second one does
// nothing unless the engine was compiled again in the meantime, which then costs
// one more compilation.
func (c *engineCache) discard(dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ready == dir {
		c.ready = ""
		_ = os.RemoveAll(dir) // compileNow deletes it again
	}
}
