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
	// engineMark is the environment variable with the directory of the compiled PDF
	// engine, for children that read a PDF.
	engineMark = "SLUICE_PDF_ENGINE"
	// childMemory is the memory limit of a child in bytes. The PDF engine may use 384
	// MiB of it; the rest is for the document and the Go runtime.
	childMemory = 512 << 20
	// childStack is the maximum size of a stack in bytes. Go's own limit is 1 GB.
	// Exceeding it is a fatal error rather than a panic, so recover cannot catch it:
	// only a separate process contains a parser that recurses infinitely.
	childStack = 64 << 20
	// childCPU is the limit of a child's CPU time in seconds.
	childCPU = 30
	// childTime ends a child whose parent is gone.
	childTime = 10 * time.Minute
	// exitNoEngine is the exit code of a child that could not load the engine.
	exitNoEngine = 3
)

// job is the first line of a child's input; the content follows.
type job struct {
	Request  Request
	Attempts *attempts // if set, tried instead of reading a document; see Guards
	Sheet    bool      `json:",omitempty"` // write the rows of a workbook; see writeSheet
}

// A process with a mark reads one document, or compiles the PDF engine, and exits.
// Doing this in init rather than in main makes every binary that contains this package
// its own child: one whose main lacked the call would start itself endlessly.
func init() {
	switch {
	case os.Getenv(sandbox.Mark) == childRole:
		os.Exit(runJob(os.Stdin, os.Stdout))
	case os.Getenv(compileMark) != "":
		os.Exit(compileEngine(os.Getenv(compileMark)))
	}
}

// runJob is the main function of a child. The order makes it safe: it first limits the
// memory, then loads the PDF engine, which requires files, and then confines the process.
// Only then does it read the request, which contains the limit of CPU time, and finally
// the document. It returns the exit code: 0 with an answer, exitNoEngine, or 1.
func runJob(in io.Reader, out io.Writer) int {
	sandbox.LimitMemory(childMemory)
	debug.SetMaxStack(childStack)
	time.AfterFunc(childTime, func() { os.Exit(1) })
	engine, err := loadEngine(os.Getenv(engineMark))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitNoEngine
	}
	held := sandbox.Process() // before any part of the document is read
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
	if todo.Sheet {
		return exitCode(writeSheet(data, out))
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

// readRest reads the rest of in into memory. If in is a file, it allocates just its
// size: a buffer that doubles as it grows would temporarily take up to three times as
// much, a large part of the memory limit.
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

// exitCode returns the exit code of the child after writing its answer: 1 if that failed,
// and 0 otherwise. The rejection of a document is an answer too.
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
