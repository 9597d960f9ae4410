package nodes

import (
	"bufio"
	"bytes"
	"cmp"
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
	"sluice/nodes/confine"
	"sluice/outbound"
)

// Documents and pages come from strangers, and their readers can be led into
// endless loops, endless memory and stack overflows, which Go does not survive.
// So they are read in a child process of our own binary, which may fail alone.
// A compromised reader must not gain access to anything but its document: it
// has no environment and, as far as the system allows, no files, no network and
// no way to gain privileges (document_guard.go).

const (
	// childMark in the environment makes a process a reader.
	childMark = confine.Mark
	// childMemory is what a reader may take, in bytes. The largest documents that
	// are read at all take some 300 MiB.
	childMemory = 512 << 20
	// childStack is the deepest recursion, in bytes. Go's own limit is 1 GB.
	childStack = 64 << 20
	// childCPU is how long a reader may compute, in seconds of one processor.
	childCPU = 30
	// childTime ends a reader whose parent is gone.
	childTime = 10 * time.Minute
	// maxChildHead is what an answer may have besides its text, in bytes.
	maxChildHead = 1 << 20
	// maxChildAnswer is what Sluice itself holds of an answer, in bytes.
	maxChildAnswer = maxChildHead + flow.MaxTextBytes
	// maxChildren keeps what all readers take together bounded.
	maxChildren = 2
)

var children = newReaderQueue(maxChildren)

// reading asks for a text to be read out of some content.
type reading struct {
	Page            bool // a web page, whose main part is extracted
	Name, MIME, URL string
	Pages           string // as typed; empty means all
	MaxPages        int
	Full            bool // of a page: all of it
	CPU             int  // seconds it may compute; zero means childCPU
	// Attempts are tried instead of reading, to learn what the reader can do.
	Attempts *attempts
}

// readText is what was read.
type readText struct {
	Text          string `json:"-"` // follows the rest as it is
	Title, Format string
	Pages         int
	Truncated     bool
	Meta          map[string]any
	Refused       string // a sentence why nothing could be read
	Attempted     *attempted
}

// A process with the mark reads one document and ends. This is done here rather
// than in main, so that every binary that holds the kinds is its own reader: one
// whose main forgot to would start itself forever.
func init() {
	if os.Getenv(childMark) == "1" {
		os.Exit(beReader(os.Stdin, os.Stdout))
	}
}

// beReader is the life of a child: what to read as a line of JSON and then the
// content come in; a line of JSON about the text and then the text go out.
func beReader(in io.Reader, out io.Writer) int {
	limitMemory(childMemory * memoryFactor)
	debug.SetMemoryLimit(childMemory * 3 / 4)
	debug.SetMaxStack(childStack)
	time.AfterFunc(childTime, func() { os.Exit(1) })
	held := confine.Process() // before anything of the document is read
	content := bufio.NewReader(in)
	line, err := content.ReadBytes('\n')
	if err != nil {
		return 1
	}
	var what reading
	if err := json.Unmarshal(line, &what); err != nil {
		return 1
	}
	limitCPU(uint64(cmp.Or(what.CPU, childCPU)))
	if what.Attempts != nil {
		if json.NewEncoder(out).Encode(readText{Attempted: what.Attempts.try(held)}) != nil {
			return 1
		}
		return 0
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return 1
	}
	text := what.read(data).short()
	if err := json.NewEncoder(out).Encode(text); err != nil {
		return 1
	}
	if _, err := io.WriteString(out, text.Text); err != nil {
		return 1
	}
	return 0
}

// readInChild reads content in a process of its own, which ends with ctx. All of
// the content is fetched before a place for a process is taken, so that a slow
// server holds up nobody.
func readInChild(ctx context.Context, workspace flow.WorkspaceID, what reading, content io.Reader) (readText, error) {
	head, err := json.Marshal(what)
	if err != nil {
		return readText{}, fmt.Errorf("ask a reader: %w", err)
	}
	asked, err := spool(ctx, append(head, '\n'), content)
	if err != nil {
		return readText{}, err
	}
	defer asked.close()
	outbound.Report(ctx, false) // this process waits for a slot, and then for the reader
	if err := children.take(ctx, workspace); err != nil {
		return readText{}, err
	}
	defer children.give(workspace)
	answer := &limitedBuffer{left: maxChildAnswer}
	err = runChild(ctx, asked.File, answer)
	switch {
	case ctx.Err() != nil:
		return readText{}, ctx.Err()
	case err != nil:
		return readText{}, childError(err, cmp.Or(what.CPU, childCPU))
	}
	outbound.Report(ctx, true)
	return answer.understand()
}

// runChild runs a reader on the content of in.
func runChild(ctx context.Context, in *os.File, out io.Writer) error {
	cmd := exec.CommandContext(ctx, ownBinary())
	cmd.Env = []string{childMark + "=1", "GOMAXPROCS=2"}
	cmd.Dir = os.TempDir()
	cmd.Stdin = in
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

// childError words the end of a reader that gave no answer; seconds is how long
// it was allowed to compute. Systems count that in ticks, so what they limit and
// what they tell afterwards differ a little.
func childError(err error, seconds int) error {
	died, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case !ok:
		return fmt.Errorf("start a reader: %w", err)
	case died.UserTime()+died.SystemTime() > time.Duration(seconds)*time.Second*3/4:
		return flow.Errorf(flow.CodeInputInvalid, "The document takes too long to read: more than %d s of computing. Save it again with another program, or give it in parts.", seconds)
	}
	return flow.Errorf(flow.CodeInputInvalid, "The document could not be read: it is damaged, or takes more memory than reading may take. Save it again with another program, or give it in parts.")
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

// understand takes an answer apart: a line of JSON, then the text.
func (b *limitedBuffer) understand() (readText, error) {
	head, text, _ := bytes.Cut(b.data, []byte("\n"))
	var read readText
	if err := json.Unmarshal(head, &read); err != nil {
		return readText{}, fmt.Errorf("understand a reader: %w", err)
	}
	if read.Refused != "" {
		return readText{}, flow.Errorf(flow.CodeInputInvalid, "%s", read.Refused)
	}
	read.Text = string(text)
	return read, nil
}
