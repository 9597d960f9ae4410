package documents

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
	"runtime/debug"
	"time"

	"sluice/documents/pdfium"
	"sluice/sandbox"
)

const (
	// childRole is the role of a child that reads a document; see sandbox.Mark.
	childRole = "document"
	// engineMark in the environment names the directory of the compiled PDF
	// engine, for children that read a PDF.
	engineMark = "SLUICE_PDF_ENGINE"
	// childMemory is how much memory a child may take, in bytes. The PDF engine
	// may use 384 MiB of it; the rest is for the document and Go's runtime.
	childMemory = 512 << 20
	// childStack is the deepest recursion, in bytes. Go's own limit is 1 GB. To
	// exceed it is a fatal error rather than a panic, so no recover catches it:
	// only a process of its own contains a parser that recurses forever.
	childStack = 64 << 20
	// childCPU is how long a child may compute, in seconds of one processor.
	childCPU = 30
	// childTime ends a child whose parent is gone.
	childTime = 10 * time.Minute
	// exitNoEngine is the exit code of a child that could not load the engine.
	exitNoEngine = 3
)

// job is the first line that a child reads; the content follows.
type job struct {
	Request  Request
	Attempts *attempts // tried instead of reading, to learn what a child can do
}

// A process with a mark reads one document, or compiles the PDF engine, and
// ends. This is done here rather than in main, so that every binary that holds
// this package is its own child: one whose main forgot to would start itself
// forever.
func init() {
	switch {
	case os.Getenv(sandbox.Mark) == childRole:
		os.Exit(runJob(os.Stdin, os.Stdout))
	case os.Getenv(compileMark) != "":
		os.Exit(compileEngine(os.Getenv(compileMark)))
	}
}

// runJob is the life of a child. Its order is what makes it safe: memory is limited
// first, then the PDF engine is loaded, which needs files, then the process is
// confined. Only then the request is read, which says how long the child may
// compute, and the document last. It returns the exit code: 0 with an answer,
// exitNoEngine, or 1.
func runJob(in io.Reader, out io.Writer) int {
	sandbox.LimitMemory(childMemory)
	debug.SetMaxStack(childStack)
	time.AfterFunc(childTime, func() { os.Exit(1) })
	engine, err := loadEngine(os.Getenv(engineMark))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitNoEngine
	}
	held := sandbox.Process() // before anything of the document is read
	content := bufio.NewReader(in)
	line, err := content.ReadBytes('\n')
	if err != nil {
		return 1
	}
	var todo job
	if err := json.Unmarshal(line, &todo); err != nil {
		return 1
	}
	sandbox.LimitCPU(uint64(cmp.Or(todo.Request.CPU, childCPU)))
	if todo.Attempts != nil {
		return exitCode(writeFrame(out, frame{Attempted: todo.Attempts.try(held)}, ""))
	}
	data, err := readRest(content, in)
	if err != nil {
		return 1
	}
	r := &reading{Request: todo.Request, data: data, engine: engine, draw: func(i Image) error {
		return writeFrame(out, frame{Page: i.Page}, string(i.PNG))
	}}
	doc, err := r.read()
	if refused, ok := errors.AsType[*Error](err); ok {
		return exitCode(writeFrame(out, frame{Refused: refused}, ""))
	}
	if err != nil {
		return 1
	}
	return exitCode(writeFrame(out, frame{Document: doc}, doc.Text))
}

// readRest reads the content into memory of just its size, where in is a file. A
// buffer that doubles as it grows would hold up to three times the content for a
// moment, much of what a child may take.
func readRest(content io.Reader, in io.Reader) ([]byte, error) {
	var b bytes.Buffer
	if f, ok := in.(*os.File); ok {
		if about, err := f.Stat(); err == nil {
			b.Grow(int(min(about.Size(), MaxSize)) + bytes.MinRead)
		}
	}
	_, err := b.ReadFrom(content)
	return b.Bytes(), err
}

// exitCode returns the exit code of the child once its answer was written: 1 if that
// failed, since the parent cannot read the reason then. A refused document is an answer
// too, with the exit code 0.
func exitCode(err error) int {
	if err != nil {
		return 1
	}
	return 0
}

// loadEngine loads the compiled PDF engine. While it does, the process can read
// the directory of the engine and write nothing.
func loadEngine(dir string) (*pdfium.Engine, error) {
	if dir == "" {
		return nil, nil
	}
	sandbox.ReadOnly(dir)
	return pdfium.New(context.Background(), dir)
}
