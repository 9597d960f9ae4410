package nodes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"sluice/flow"
)

// Documents and pages come from strangers, and their readers can be led into
// endless loops, endless memory and stack overflows, which Go does not survive.
// So they are read in a child process of our own binary, which may fail alone.

const (
	// childMark in the environment makes a process a reader.
	childMark = "SLUICE_READS_DOCUMENT"
	// childMemory is what a reader may take, in bytes.
	childMemory = 1 << 30
	// childStack is the deepest recursion, in bytes. Go's own limit is 1 GB.
	childStack = 64 << 20
	// childTime ends a reader whose parent is gone.
	childTime = 10 * time.Minute
	// maxChildAnswer is above what a text of flow.MaxTextBytes takes as JSON.
	maxChildAnswer = 8 * flow.MaxTextBytes
	// maxChildren keeps what all readers take together bounded.
	maxChildren = 2
)

var children = make(chan struct{}, maxChildren)

// reading asks for a text to be read out of some content.
type reading struct {
	Page            bool // a web page, of which the main part is wanted
	Name, MIME, URL string
	Pages           string // as typed; empty means all
	MaxPages        int
	Full            bool // of a page: all of it
}

// readText is what was read.
type readText struct {
	Text, Title, Format string
	Pages               int
	Truncated           bool
	Meta                map[string]any
	Refused             string // a sentence why nothing could be read
}

// A process with the mark reads one document and ends. This is done here rather
// than in main, so that every binary that holds the kinds is its own reader: one
// whose main forgot to would start itself for ever.
func init() {
	if os.Getenv(childMark) == "1" {
		os.Exit(beReader(os.Stdin, os.Stdout))
	}
}

// beReader is the life of a child: what to read as a line of JSON and then the
// content come in, the text goes out.
func beReader(in io.Reader, out io.Writer) int {
	limitMemory(childMemory)
	debug.SetMemoryLimit(childMemory * 3 / 4)
	debug.SetMaxStack(childStack)
	time.AfterFunc(childTime, func() { os.Exit(1) })
	content := bufio.NewReader(in)
	line, err := content.ReadBytes('\n')
	if err != nil {
		return 1
	}
	var what reading
	if err := json.Unmarshal(line, &what); err != nil {
		return 1
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return 1
	}
	if err := json.NewEncoder(out).Encode(what.read(data)); err != nil {
		return 1
	}
	return 0
}

// readInChild reads content in a process of its own, which ends with ctx.
func readInChild(ctx context.Context, what reading, content io.Reader) (readText, error) {
	select {
	case children <- struct{}{}:
	case <-ctx.Done():
		return readText{}, ctx.Err()
	}
	defer func() { <-children }()
	head, err := json.Marshal(what)
	if err != nil {
		return readText{}, fmt.Errorf("ask a reader: %w", err)
	}
	source := &rememberError{Reader: content}
	answer := &limitedBuffer{left: maxChildAnswer}
	cmd := exec.CommandContext(ctx, ownBinary())
	cmd.Env = []string{childMark + "=1", "GOMAXPROCS=2"}
	cmd.Dir = os.TempDir()
	cmd.Stdin = io.MultiReader(newLine(head), source)
	cmd.Stdout = answer
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return readText{}, ctx.Err()
	case source.err != nil:
		return readText{}, source.err
	case err != nil:
		return readText{}, childError(err)
	}
	var text readText
	if err := json.Unmarshal(answer.data, &text); err != nil {
		return readText{}, fmt.Errorf("understand a reader: %w", err)
	}
	if text.Refused != "" {
		return readText{}, flow.Errorf(flow.CodeInputInvalid, "%s", text.Refused)
	}
	return text, nil
}

// childError words the end of a reader that gave no answer.
func childError(err error) error {
	if _, died := errors.AsType[*exec.ExitError](err); died {
		return flow.Errorf(flow.CodeInputInvalid, "The document could not be read: it is damaged, or takes more memory than reading may take. Save it anew with another program, or give it in parts.")
	}
	return fmt.Errorf("start a reader: %w", err)
}

// ownBinary is the program that runs, even when the file under its name was
// replaced by a newer one.
func ownBinary() string {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe"
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// newLine is a reader of one line.
func newLine(data []byte) io.Reader { return bytes.NewReader(append(data, '\n')) }

// rememberError keeps what reading ended with: an exec.Cmd does not tell it
// apart from other failures.
type rememberError struct {
	io.Reader
	err error
}

func (r *rememberError) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// limitedBuffer keeps what is written up to a limit.
type limitedBuffer struct {
	data []byte
	left int
}

var errAnswerTooLong = errors.New("a reader answered too much")

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errAnswerTooLong
	}
	b.left -= len(p)
	b.data = append(b.data, p...)
	return len(p), nil
}
