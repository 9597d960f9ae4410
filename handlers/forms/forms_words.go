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
	"sluice/handlers/web"
	editorview "sluice/views/editor"
	formsview "sluice/views/forms"
)

// formRefusal is why a form was not taken, in words for anybody: nothing of it tells
// how the flow works.
type formRefusal struct {
	status int
	text   string
	after  time.Duration // when it may work
}

// Error is the sentence for the visitor.
func (r *formRefusal) Error() string { return r.text }

var errFormUsedUp = &formRefusal{http.StatusTooManyRequests, "This form has answered all that it may for today. Come back tomorrow; what you typed is still here.", time.Hour}

// refusals are the answers to what keeps a run from starting, by code.
var refusals = map[flow.Code]formRefusal{
	flow.CodeBudgetExceeded:     {http.StatusPaymentRequired, "The budget of this form is used up. Try again later, or tell whoever gave you its address.", 0},
	flow.CodeQuotaExceeded:      {http.StatusPaymentRequired, "This form cannot accept anything right now because its storage is full. Tell the person who gave you the link; what you typed is still here.", 0},
	flow.CodeRateLimited:        {http.StatusTooManyRequests, "This form is in great demand right now. Wait a moment and send it again; what you typed is still here.", 0},
	flow.CodeConcurrencyLimited: {http.StatusTooManyRequests, "This form is in great demand right now. Wait a moment and send it again; what you typed is still here.", 0},
	flow.CodeQueueFull:          {http.StatusTooManyRequests, "This form is in great demand right now. Wait a moment and send it again; what you typed is still here.", 0},
	flow.CodeBodyTooLarge:       {http.StatusRequestEntityTooLarge, "This is more than the form takes at once. Shorten the texts or choose smaller files.", 0},
	flow.CodeDraining:           {http.StatusServiceUnavailable, "The form pauses for a moment. Send it again in a few seconds; what you typed is still here.", 5 * time.Second},
	flow.CodeOverloaded:         {http.StatusServiceUnavailable, "The form pauses for a moment. Send it again in a few seconds; what you typed is still here.", 5 * time.Second},
	flow.CodeUnavailable:        {http.StatusServiceUnavailable, "The form pauses for a moment. Send it again in a few seconds; what you typed is still here.", 5 * time.Second},
	flow.CodeStorageFull:        {http.StatusServiceUnavailable, "The form can take nothing right now. Try again later, or tell whoever gave you its address.", 0},
}

// refusalOf is what a visitor may know of an error; nil is nothing.
func refusalOf(err error) *formRefusal {
	if r, ok := errors.AsType[*formRefusal](err); ok {
		return r
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		r := refusals[flow.CodeBodyTooLarge]
		return &r
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
	r, known := refusals[e.Code]
	if !known {
		return nil
	}
	r.after = max(r.after, e.After)
	return &r
}

// refuse shows the form again, with what was typed and what is wrong with it.
func (v *visit) refuse(typed *web.Inputs, ticket string, cause error) error {
	r := refusalOf(cause)
	if r == nil {
		return cause
	}
	again, err := v.again(ticket)
	if err != nil {
		return err
	}
	var last map[string]any
	if again != nil {
		last = again.Inputs
	}
	fields := v.fields(typed, last)
	text := r.text
	if e, ok := errors.AsType[*flow.Error](cause); ok && text == "" && v.blame(fields, e.Fields) == 0 {
		text = "The form could not be read. Load the page again and try once more."
	}
	if r.after > 0 {
		v.RetryAfter(r.after)
	}
	return v.showForm(r.status, fields, text)
}

// blame puts problems beside their fields, and counts those that found one.
func (v *visit) blame(fields []formsview.FormField, problems []flow.Problem) (n int) {
	inputs := v.doc.Inputs(v.s.Kinds)
	for _, p := range problems {
		i := slices.IndexFunc(inputs, func(in flow.Input) bool { return flow.Pointer(in.Name) == p.Pointer })
		if i >= 0 && fields[i].Error == "" {
			fields[i].Error = v.fieldWords(&inputs[i], p)
			n++
		}
	}
	return n
}

// fieldWords say what is wrong with an input to whoever typed it.
func (v *visit) fieldWords(in *flow.Input, p flow.Problem) string {
	switch p.Code {
	case "required":
		switch {
		case in.Type == flow.TypeFile:
			return "Choose a file."
		case len(in.Enum) > 0:
			return "Choose one."
		}
		return "This is needed."
	case "wrong_type", "out_of_range":
		return wrongTypeWords[in.Type]
	case "too_small":
		return "This is too " + littleWords[in.Type] + ": " + limitWords(in, 0)
	case "too_large":
		return "This is too " + muchWords[in.Type] + ": " + limitWords(in, 0)
	case "large_file":
		return "This file is too large. It may have at most " + flow.Size(v.maxFile()) + "."
	case "pattern":
		return "This does not have the form that is asked for."
	case "not_found":
		return "Choose the file again."
	case "not_allowed":
		if in.Type == flow.TypeFile {
			return "This kind of file is not taken here. " + acceptWords(in)
		}
		return "Choose one of those that are offered."
	case "not_json":
		return editorview.Sentence("This is not valid JSON: " + p.Detail)
	}
	return "This cannot be taken."
}

var wrongTypeWords = map[flow.Type]string{
	flow.TypeNumber: "Type a number, such as 3 or 0.5.", flow.TypeBoolean: "Choose yes or no.", flow.TypeText: "Type a text.",
	flow.TypeList: "Type one item a line, or a list in JSON.", flow.TypeJSON: "Type JSON.", flow.TypeFile: "Choose a file.",
}

var (
	littleWords = map[flow.Type]string{flow.TypeNumber: "small", flow.TypeText: "short", flow.TypeList: "little", flow.TypeJSON: "little"}
	muchWords   = map[flow.Type]string{flow.TypeNumber: "large", flow.TypeText: "long", flow.TypeList: "much", flow.TypeJSON: "much"}
)

// limitWords say in advance what an input takes.
func limitWords(in *flow.Input, maxFile int64) string {
	if in.Type == flow.TypeFile {
		return strings.TrimSpace(acceptWords(in) + " At most " + flow.Size(maxFile) + ".")
	}
	unit := map[flow.Type]string{flow.TypeText: " characters", flow.TypeList: " items"}[in.Type]
	words := boundWords(in.Min, in.Max, unit)
	if in.Type == flow.TypeList {
		words = strings.TrimSpace("One item a line. " + words)
	}
	return words
}

func boundWords(low, high *float64, unit string) string {
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

// acceptWords say which files an input takes.
func acceptWords(in *flow.Input) string {
	if len(in.Accept) == 0 {
		return ""
	}
	kinds := make([]string, len(in.Accept))
	for i, a := range in.Accept {
		family, _, _ := strings.Cut(a, "/")
		switch {
		case a == "*/*":
			kinds[i] = "any file"
		case strings.HasSuffix(a, "/*"):
			kinds[i] = map[string]string{"image": "pictures", "audio": "audio", "video": "videos", "text": "texts"}[family]
		}
		if kinds[i] == "" {
			kinds[i] = a
		}
	}
	return editorview.Sentence("Takes " + strings.Join(kinds, ", "))
}
