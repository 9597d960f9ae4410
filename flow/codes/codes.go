// Package codes describes the codes of errors: the status of a response, and what people and programs
// should do. A code is declared in package flow and described here once; the API, the pages and
// docs/errors.md read it.
package codes

import (
	"fmt"
	"strings"
	"time"

	"sluice/flow"
)

// Facts is what all errors of one code have in common.
type Facts struct {
	Code   flow.Code
	Status int           // HTTP status of a response with this code; 0 if no response has it
	Title  string        // of the problem in a response
	After  time.Duration // Retry-After of a response, unless its error has another

	Request string // explains a rejected request, for docs/errors.md in Markdown
	Run     string // explains the error of a run, for docs/errors.md in Markdown

	Advice        string // what to do about a failed run, on the pages of the console
	BuilderAdvice string // the same in the builder, whose controls it names
	FormRefusal   string // for visitors of a public form that does not accept what they sent
	FormFailure   string // for visitors of a public form whose run failed
}

var byCode = func() map[flow.Code]Facts {
	all := make(map[flow.Code]Facts, len(table))
	for _, f := range table {
		all[f.Code] = f
	}
	return all
}()

// Of returns the facts of a code. They are zero for a code without any, such as those of the builder's
// own protocol.
func Of(code flow.Code) Facts { return byCode[code] }

// All returns the facts of all codes in the order of docs/errors.md.
func All() []Facts { return table }

// Explanation returns the section of docs/errors.md about a code, in Markdown.
func (f *Facts) Explanation() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### `%s`\n\n", f.Code)
	switch {
	case f.Request == "":
		b.WriteString(f.Run)
	case f.Run == "":
		fmt.Fprintf(&b, "Status %d. %s", f.Status, f.Request)
	default:
		fmt.Fprintf(&b, "Status %d for a request: %s\n\nAs the error of a run: %s", f.Status, f.Request, f.Run)
	}
	return b.String() + "\n"
}
