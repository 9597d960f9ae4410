package javascript

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"time"

	"sluice/flow/cache"
	"sluice/sandbox"
)

// verdict is the result of checking a program: nil, or what is wrong with it.
type verdict = *Error

var (
	// checked holds the verdicts by the hash of the program, so that a program is compiled
	// once however often its flow is validated.
	checked = cache.New[[sha256.Size]byte, verdict](4096)
	// checks are the slots for checking: compiling is short, and programs that are run
	// come first.
	checks = sandbox.NewQueue(2)
)

const (
	// maxCheckWait is how long a check may wait for its turn and its process.
	maxCheckWait = 2 * time.Second
	// uncheckedMessage describes a program that takes more than CheckCPU to compile.
	uncheckedMessage = "The code could not be checked within %v s of CPU time. Make it shorter or simpler."
)

// exportsDefault matches the default export that every program needs.
var exportsDefault = regexp.MustCompile(`\bexport\b[^;]*\bdefault\b`)

// Check compiles a program in a child process without running it, and returns what is wrong with
// it, or nil. A program that takes more than CheckCPU to compile is wrong, too. If the check
// cannot run because the server is busy, it returns nil: running the program will report its
// errors.
func Check(source string) *Error {
	if len(source) > MaxSource {
		return &Error{Message: fmt.Sprintf("The code has %d KiB; the limit is %d KiB.", len(source)>>10, MaxSource>>10)}
	}
	key := sha256.Sum256([]byte(source))
	if known, ok := checked.Get(key); ok {
		return known
	}
	found, err := compile(source)
	if err != nil {
		return nil
	}
	if found == nil && !exportsDefault.MatchString(source) {
		found = &Error{Message: "The code exports no function. Begin it with export default function (inputs) {"}
	}
	checked.Add(key, found)
	return found
}

// compile compiles a program in a child process. An error means that there was no verdict.
func compile(source string) (verdict, error) {
	ctx, cancel := context.WithTimeout(context.Background(), maxCheckWait)
	defer cancel()
	if err := checks.Acquire(ctx, ""); err != nil {
		return nil, err
	}
	defer checks.Release("")
	c, err := start()
	if err != nil {
		return nil, err
	}
	// A busy machine may take long for one second of CPU time.
	_, err = c.run(context.Background(), Program{Source: source, Check: true, CPU: CheckCPU}, func() error { return nil })
	found, _ := errors.AsType[*Error](err)
	if found == nil && err != nil {
		return nil, err
	}
	return found, nil
}
