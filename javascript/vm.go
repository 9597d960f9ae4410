package javascript

import (
	"crypto/sha256"
	_ "embed" // the prelude
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"modernc.org/quickjs"

	"sluice/flow/wording"
	"sluice/sandbox"
)

//go:embed prelude.js
var prelude string

// moduleName is the name of the program in stack traces.
const moduleName = "code"

// machine is a JavaScript engine that runs one program.
type machine struct {
	vm      *quickjs.VM
	program Program
	log     func(string)
	numbers *numbers
	answer  *answer // set when the program returned or failed

	collators *collators
}

// answer is the result of a program or its error.
type answer struct {
	Value string `json:",omitempty"` // JSON
	Error *Error `json:",omitempty"`
}

// newMachine returns a machine on which the prelude has run. log is called for each line
// that the program writes to the console.
func newMachine(log func(string)) (*machine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, fmt.Errorf("make a JavaScript machine: %w", err)
	}
	vm.SetMemoryLimit(MaxMemory)
	m := &machine{vm: vm, log: log, collators: newCollators()}
	vm.SetModuleLoader(m.load, func(_ *quickjs.VM, _, name string) (string, error) { return name, nil })
	for name, f := range map[string]quickjs.HostFunc{"__log": m.hostLog, "__done": m.hostDone, "__failed": m.hostFailed, "__compare": m.hostCompare} {
		if err := vm.RegisterHostFunc(name, f); err != nil {
			return nil, fmt.Errorf("register %s: %w", name, err)
		}
	}
	if _, err := vm.Eval(prelude, quickjs.EvalGlobal); err != nil {
		return nil, fmt.Errorf("run the prelude: %w", err)
	}
	return m, nil
}

// load implements the module loader. The only module is the program.
func (m *machine) load(_ *quickjs.VM, name string) (string, error) {
	if name != moduleName {
		return "", fmt.Errorf("code cannot import modules, and asked for %s", name)
	}
	return m.program.Source, nil
}

// hostLog passes a line that the program wrote to the console to the log of the step.
func (m *machine) hostLog(args []any) (any, error) {
	m.log(text(args, 0))
	return nil, nil
}

// hostDone ends the program with its result as JSON. The result is limited to MaxValue
// bytes, since it becomes a value of the run.
func (m *machine) hostDone(args []any) (any, error) {
	value := text(args, 0)
	if len(value) > MaxValue {
		m.end(&answer{Error: &Error{Message: fmt.Sprintf("The code returned more than %d MiB.", MaxValue>>20)}})
		return nil, nil
	}
	value, err := m.numbers.decode(value)
	if err != nil {
		return nil, err
	}
	m.end(&answer{Value: value})
	return nil, nil
}

// hostFailed ends the program with an exception, given as its name, message and stack.
func (m *machine) hostFailed(args []any) (any, error) {
	m.end(&answer{Error: m.program.describe(text(args, 0), text(args, 1), text(args, 2))})
	return nil, nil
}

// end sets the answer unless it is already set.
func (m *machine) end(a *answer) {
	if m.answer == nil {
		m.answer = a
	}
}

func text(args []any, i int) string {
	s, _ := args[i].(string)
	return s
}

// run runs a program and then its pending promise jobs until none is left.
func (m *machine) run(p Program) *answer {
	m.program = p
	before := sandbox.PeakMemory()
	seed := sha256.Sum256([]byte(p.Seed))
	args := []any{float64(p.Time.UnixMilli())}
	for i := range 4 {
		args = append(args, float64(binary.LittleEndian.Uint32(seed[4*i:])))
	}
	exact, inputs, err := encodeInputs(p.Inputs)
	if err != nil {
		return &answer{Error: p.errorOf(err)}
	}
	m.numbers = exact
	_, err = m.vm.Call("__start", append(args, string(inputs), exact.mark)...)
	if err == nil {
		_, err = m.vm.ExecutePendingJobs()
	}
	if m.answer == nil && err != nil {
		m.answer = &answer{Error: p.errorOf(err)}
	}
	// Without memory for an error, the engine throws null or nothing, which could also be a
	// program that throws null or waits forever. These rarely use much memory, so the peak of the
	// process tells them apart. It is below the limit, because a list doubles when it grows.
	lost := m.answer == nil || m.answer.Error != nil && m.answer.Error.Message == "null."
	if lost && sandbox.PeakMemory()-before > MaxMemory/3 {
		m.answer = &answer{Error: p.tooLarge()}
	}
	if m.answer != nil {
		return m.answer
	}
	return &answer{Error: &Error{Message: "The code waits for a promise that never resolves. Code has no timers and no network."}}
}

// tooLarge returns the error for a program that used too much memory.
func (p Program) tooLarge() *Error {
	return &Error{Message: fmt.Sprintf("The code used more than %d MiB of memory.", MaxMemory>>20)}
}

// check compiles a program without running it. The answer has an error, or the value true.
func (m *machine) check(p Program) *answer {
	if _, err := m.vm.Compile(p.Source, quickjs.EvalModule); err != nil {
		return &answer{Error: p.errorOf(err)}
	}
	return &answer{Value: "true"}
}

// errorOf converts an error of the machine to one for the author.
func (p Program) errorOf(err error) *Error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	e, ok := errors.AsType[*quickjs.Error](err)
	if !ok {
		return &Error{Message: sentence(err.Error())}
	}
	if e.LineNumber > 0 {
		return &Error{Message: sentence(e.Name + ": " + e.Message), Line: e.LineNumber}
	}
	return p.describe(e.Name, e.Message, e.Stack)
}

// position matches a position in the program in a stack trace.
var position = regexp.MustCompile(`\bcode:(\d+)`)

// describe returns the error for an exception, with its line.
func (p Program) describe(name, message, stack string) *Error {
	e := &Error{Message: sentence(strings.TrimPrefix(name+": "+message, ": "))}
	if at := position.FindStringSubmatch(stack); at != nil {
		e.Line, _ = strconv.Atoi(at[1])
	}
	if name == "TypeError" && strings.Contains(strings.ToLower(message), "bigint") {
		e.Message += " A whole number of the inputs that is too large for JavaScript's numbers is a BigInt. Compute with BigInts, or convert it with Number(), which rounds it."
	}
	if name != "InternalError" {
		return e
	}
	switch message {
	case "interrupted":
		return p.tooLong(e.Line)
	case "out of memory":
		e.Message = p.tooLarge().Message
	case "string too long":
		e.Message = "The code built a text that is too long."
	case "stack overflow":
		e.Message = "The code recurses too deeply."
	}
	return e
}

// maxMessage is the maximum length of an exception's message in bytes.
const maxMessage = 2000

// sentence ends a message with a period.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxMessage {
		s = wording.CutBytes(s, maxMessage) + "…"
	}
	return wording.Period(s)
}
