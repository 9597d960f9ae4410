package forms

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/handlers/web"
)

// inputProblems returns all problems of the submitted inputs, so that all fields show
// their errors at once.
func inputProblems(t *web.Inputs, inputs []contract.Input, given *flow.Object, previousRun *flow.Run) []flow.Problem {
	values, problems := contract.Check(inputs, given, true)
	for i := range inputs {
		in := &inputs[i]
		at := flow.Pointer(in.Name)
		switch {
		case t.TooLarge[in.Name]:
			problems = append([]flow.Problem{{Pointer: at, Code: "large_file"}}, problems...)
		case given.Get(in.Name) == nil:
		case in.Type == flow.TypeJSON && jsonError(given.Get(in.Name)) != "":
			problems = append(problems, flow.Problem{Pointer: at, Code: "not_json", Detail: jsonError(given.Get(in.Name))})
		case !mayUseFiles(t, in, values.Get(in.Name), previousRun):
			problems = append(problems, flow.Problem{Pointer: at, Code: "not_found"})
		}
	}
	return problems
}

// mayUseFiles reports whether a visitor may use the files in a value: those
// uploaded with the form, those of the visitor's previous run, and those of the
// default. Other files of the workspace are refused even if the visitor knows their
// ID, because anyone can open the form.
func mayUseFiles(t *web.Inputs, in *contract.Input, value any, previousRun *flow.Run) bool {
	allowed := flow.FileIDs(in.Default)
	for _, file := range t.Files {
		allowed = append(allowed, flow.FileIDs(file)...)
	}
	if previousRun != nil {
		allowed = append(allowed, flow.FileIDs(any(previousRun.Inputs))...)
	}
	return !slices.ContainsFunc(flow.FileIDs(value), func(id string) bool { return !slices.Contains(allowed, id) })
}

// jsonError explains why a text is not valid JSON, or returns "". A text that does
// not begin like an object, a list or a string is accepted as plain text.
func jsonError(v any) string {
	text, _ := v.(string)
	if text = strings.TrimSpace(text); text == "" || !strings.ContainsAny(text[:1], `{["`) {
		return ""
	}
	_, err := flow.DecodeJSON([]byte(text))
	if p, ok := errors.AsType[*flow.ProblemError](err); ok {
		return p.Detail
	}
	if err != nil {
		return "it is cut off or has extra characters"
	}
	return ""
}

// takeRate counts a submission, or returns the time until this visitor may submit the form again.
func (v *formCall) takeRate(now time.Time) (time.Duration, error) {
	return v.TakeRate(v.s.rateLimiters, "send", string(v.flow.ID)+" "+web.RateLimitKey(v.IP()), v.form.PerMinute, now)
}

// checkLimits returns a formRefusal if this visitor has reached a limit.
func (v *formCall) checkLimits() error {
	now := v.s.Now()
	wait, err := v.takeRate(now)
	if err != nil {
		return err
	}
	if wait > 0 {
		return &formRefusal{http.StatusTooManyRequests, "You sent this form too often. Send it again in " + web.WaitText(wait) + "; what you typed is still here.", wait}
	}
	if v.form.UsedUp(now) {
		return errFormUsedUp
	}
	return nil
}
