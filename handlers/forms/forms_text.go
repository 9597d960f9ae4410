package forms

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/codes"
	"sluice/flow/contract"
	"sluice/flow/wording"
	"sluice/handlers/web"
	formsview "sluice/views/forms"
)

// formRefusal is an error for visitors whose form was not accepted. It does not
// disclose how the flow works.
type formRefusal struct {
	status int
	text   string
	after  time.Duration // for Retry-After; 0 if unknown
}

// Error returns the message for the visitor.
func (r *formRefusal) Error() string { return r.text }

// errFormChanged refuses a form with a value for an input that the live version does not have.
var errFormChanged = &formRefusal{http.StatusUnprocessableEntity, "This form has changed since you opened it. Check what is filled in, then send it again.", 0}

var errFormUsedUp = &formRefusal{http.StatusTooManyRequests, "This form has reached its limit for today. Come back tomorrow; what you typed is still here.", time.Hour}

// findRefusal converts an error for the visitor. It returns nil for errors that must
// not be disclosed.
func findRefusal(err error) *formRefusal {
	if r, ok := errors.AsType[*formRefusal](err); ok {
		return r
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return newRefusal(flow.CodeBodyTooLarge, 0)
	}
	e, ok := errors.AsType[*flow.Error](err)
	if !ok {
		return nil
	}
	switch {
	case e == web.ErrUploadIncomplete:
		return &formRefusal{http.StatusUnprocessableEntity, e.Message, 0}
	case e.Code == flow.CodeInputInvalid:
		return &formRefusal{http.StatusUnprocessableEntity, "", 0}
	}
	return newRefusal(e.Code, e.After)
}

// newRefusal returns what a visitor sees for a code, or nil if it must not be disclosed.
func newRefusal(code flow.Code, after time.Duration) *formRefusal {
	f := codes.Of(code)
	if f.FormRefusal == "" {
		return nil
	}
	return &formRefusal{f.Status, f.FormRefusal, max(f.After, after)}
}

// renderRefusal renders the form again with the submitted values and the errors.
func (v *formCall) renderRefusal(typed *web.Inputs, ticket string, cause error) error {
	r := findRefusal(cause)
	if r == nil {
		return cause
	}
	previousRun, err := v.previousRun(ticket)
	if err != nil {
		return err
	}
	var last *flow.Object
	if previousRun != nil {
		last = previousRun.Inputs
	}
	fields := v.fields(typed, last)
	text := r.text
	if e, ok := errors.AsType[*flow.Error](cause); ok && text == "" && v.assignProblems(fields, e.Fields) == 0 {
		text = "The form could not be read. Reload the page and try again."
	}
	if r.after > 0 {
		v.RetryAfter(r.after)
	}
	if v.wantsJSON() {
		return v.respondRefusal(r, text, fields)
	}
	return v.showForm(r.status, fields, text)
}

// assignProblems sets the error of each field that has a problem and returns
// how many problems belong to a field.
func (v *formCall) assignProblems(fields []formsview.FormField, problems []flow.Problem) (n int) {
	inputs := contract.Inputs(v.doc, v.s.Kinds)
	for _, p := range problems {
		i := slices.IndexFunc(inputs, func(in contract.Input) bool { return p.InField(in.Name) })
		if i >= 0 && fields[i].Error == "" {
			fields[i].Error = v.problemText(&inputs[i], p)
			n++
		}
	}
	return n
}

// problemText explains a problem of an input and how to fix it.
func (v *formCall) problemText(in *contract.Input, p flow.Problem) string {
	if in.Type == flow.TypeMessages && p.Code == "too_large" {
		return "This conversation is too long. Start a new chat."
	}
	switch p.Code {
	case "required":
		switch {
		case in.Type == flow.TypeFile:
			return "Choose a file or paste a URL."
		case len(in.Enum) > 0:
			return "Choose one."
		}
		return "Required."
	case "wrong_type", "out_of_range":
		return wrongTypeText[in.Type]
	case "too_small":
		return "This is too " + tooSmallText[in.Type] + ": " + limitText(in, 0)
	case "too_large":
		return "This is too " + tooLargeText[in.Type] + ": " + limitText(in, 0)
	case web.CodeRepeated:
		return "This was sent more than once. Send one value."
	case web.CodeNoFile:
		return "This takes no file."
	case "large_file":
		return "This file is too large. The limit is " + flow.Size(v.maxFileSize()) + "."
	case "pattern":
		return "This does not match the required format."
	case "not_found":
		return "Choose the file again."
	case "invalid_url":
		return "This URL cannot be used. It must begin with https:// and be publicly reachable."
	case "not_allowed":
		if in.TakesFiles() {
			return "This type of file is not accepted. " + acceptText(in)
		}
		return "Choose one of the options."
	case "not_json":
		return wording.Sentence("This is not valid JSON: " + p.Detail)
	}
	return "This value is not accepted."
}

// wrongTypeText are the messages for values that cannot be read as the type of their input.
var wrongTypeText = map[flow.Type]string{
	flow.TypeNumber: "Type a number, such as 3 or 0.5.", flow.TypeBoolean: "Choose yes or no.", flow.TypeText: "Type some text.",
	flow.TypeList: "Type one item per line, or a list as JSON.", flow.TypeJSON: "Type JSON.", flow.TypeFile: "Choose a file or paste a URL.",
	flow.TypeMessages: "Type a message.",
}

var (
	// tooSmallText and tooLargeText complete "This is too …" for the bounds of a type:
	// the size of a number, or the length of anything else.
	tooSmallText = map[flow.Type]string{flow.TypeNumber: "small", flow.TypeText: "short", flow.TypeList: "short", flow.TypeJSON: "short", flow.TypeMessages: "short"}
	tooLargeText = map[flow.Type]string{flow.TypeNumber: "large", flow.TypeText: "long", flow.TypeList: "long", flow.TypeJSON: "long"}
)

// limitText describes the accepted values of an input, for its help and its errors.
func limitText(in *contract.Input, maxFileSize int64) string {
	if in.Type == flow.TypeFile {
		return strings.TrimSpace(acceptText(in) + " At most " + flow.Size(maxFileSize) + ".")
	}
	unit := map[flow.Type]string{flow.TypeText: " characters", flow.TypeList: " items", flow.TypeMessages: " messages"}[in.Type]
	words := boundsText(in.Min, in.Max, unit)
	if in.Type == flow.TypeList {
		words = strings.TrimSpace("One item per line. " + words)
	}
	return words
}

// boundsText returns the allowed range of a number, a length or a count, or ""
// if it is unbounded.
func boundsText(low, high *float64, unit string) string {
	write := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case low != nil && high != nil && *low == *high:
		return fmt.Sprintf("Exactly %s%s.", write(*low), unit)
	case low != nil && high != nil:
		return fmt.Sprintf("%s to %s%s.", write(*low), write(*high), unit)
	case low != nil:
		return fmt.Sprintf("At least %s%s.", write(*low), unit)
	case high != nil:
		return fmt.Sprintf("At most %s%s.", write(*high), unit)
	}
	return ""
}

// acceptText returns the file types that an input accepts, or "" if it accepts
// all.
func acceptText(in *contract.Input) string {
	accepted := in.AcceptedFiles()
	if len(accepted) == 0 {
		return ""
	}
	kinds := make([]string, len(accepted))
	for i, a := range accepted {
		family, _, _ := strings.Cut(a, "/")
		switch {
		case a == "*/*":
			kinds[i] = "any file"
		case strings.HasSuffix(a, "/*"):
			kinds[i] = map[string]string{"image": "images", "audio": "audio", "video": "videos", "text": "texts"}[family]
		}
		if kinds[i] == "" {
			kinds[i] = a
		}
	}
	return wording.Sentence("Accepts " + strings.Join(kinds, ", "))
}
