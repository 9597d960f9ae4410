package flow

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// ErrFenced is returned for a write with an old attempt number: another worker has claimed
// the run.
var ErrFenced = errors.New("the run was handed to another worker")

// ErrCancelRequested is returned for a write that would end a run otherwise than as canceled,
// if its cancellation was requested before: the caller was promised that it ends.
var ErrCancelRequested = errors.New("the cancellation of the run was requested")

// ErrNotSaved means that the state of a step is certainly not on disk, so no later attempt
// resumes it. After any other error of In.Save, the state may or may not be on disk.
var ErrNotSaved = errors.New("the state of the step is not on disk")

// Code is the machine-readable reason of a failure. The codes of a failed run
// and of a refused request are part of the public contract.
type Code string

// Codes of a failed run or step.
const (
	CodeProviderAuth        Code = "provider_auth"
	CodeProviderRateLimited Code = "provider_rate_limited"
	CodeProviderRejected    Code = "provider_rejected"
	CodeProviderUnavailable Code = "provider_unavailable"
	CodeModelNotFound       Code = "model_not_found"
	CodeModelIncompatible   Code = "model_incompatible"
	CodeOutputInvalid       Code = "output_invalid"
	CodeOutputTooLarge      Code = "output_too_large"
	CodeChildFailed         Code = "child_failed"
	CodeBatchInvalid        Code = "batch_invalid"
	CodeCaseInvalid         Code = "case_invalid"
	CodeTestsRequired       Code = "tests_required"
	CodeTestsFailed         Code = "tests_failed"
	CodeKnowledgeNotFound   Code = "knowledge_not_found"
	CodePartRequired        Code = "part_required"
	CodeEmbeddingChanged    Code = "embedding_changed"
	CodeDocumentUnreadable  Code = "document_unreadable"
	CodeRemovalTooLarge     Code = "removal_too_large"
	CodeInUse               Code = "in_use"
	CodeAgentLimit          Code = "agent_limit"
	CodeAgentStuck          Code = "agent_stuck"
	CodeToolFailed          Code = "tool_failed"
	CodeToolChanged         Code = "tool_changed"
	CodeOutcomeUnknown      Code = "outcome_unknown"
	CodeNotRecorded         Code = "not_recorded"
	CodeJudgeFailed         Code = "judge_failed"
	CodeStepTimeout         Code = "step_timeout"
	CodeRunTimeout          Code = "run_timeout"
	CodeInputInvalid        Code = "input_invalid"
	CodeExpressionFailed    Code = "expression_failed"
	CodeCodeFailed          Code = "code_failed"
	CodeDestinationBlocked  Code = "destination_blocked"
	CodeHTTPFailed          Code = "http_failed"
	CodeBudgetExceeded      Code = "budget_exceeded"
	CodePriceUnknown        Code = "price_unknown"
	CodePoisoned            Code = "poisoned"
	CodeInternal            Code = "internal"
)

// Codes of a rejected request.
const (
	CodeInvalidJSON           Code = "invalid_json"
	CodeInvalidHeader         Code = "invalid_header"
	CodeKeyInURL              Code = "key_in_url"
	CodeKeyMissing            Code = "key_missing"
	CodeKeyInvalid            Code = "key_invalid"
	CodeKeyExpired            Code = "key_expired"
	CodeKeyRevoked            Code = "key_revoked"
	CodeScopeMissing          Code = "scope_missing"
	CodeFlowNotAllowed        Code = "flow_not_allowed"
	CodeExceedsKey            Code = "exceeds_key" // the target would have more rights than the requesting key
	CodeOriginNotAllowed      Code = "origin_not_allowed"
	CodeNotFound              Code = "not_found"
	CodeMethodNotAllowed      Code = "method_not_allowed"
	CodeNotAcceptable         Code = "not_acceptable"
	CodeUnsupportedMediaType  Code = "unsupported_media_type"
	CodeBodyTooLarge          Code = "body_too_large"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeNotPublished          Code = "not_published"
	CodeRunNotEnded           Code = "run_not_ended"
	CodeChildRun              Code = "child_run" // only erased together with the run that started it
	CodeResultNotSaved        Code = "result_not_saved"
	CodeRunExpired            Code = "run_expired"
	CodeIdempotencyMismatch   Code = "idempotency_mismatch"
	CodeRunFailed             Code = "run_failed"
	CodeRunCanceled           Code = "run_canceled"
	CodeRateLimited           Code = "rate_limited"
	CodeConcurrencyLimited    Code = "concurrency_limited"
	CodeQueueFull             Code = "queue_full"
	CodeDraining              Code = "draining"
	CodeSetupRequired         Code = "setup_required"
	CodeStorageFull           Code = "storage_full"
	CodeStorageUnavailable    Code = "storage_unavailable" // of the content of files
	CodeOverloaded            Code = "overloaded"
	CodeUnavailable           Code = "unavailable" // the database cannot be reached
	CodePreconditionFailed    Code = "precondition_failed"
	CodeRangeNotSatisfiable   Code = "range_not_satisfiable"
	CodeQuotaExceeded         Code = "quota_exceeded"
	CodePreconditionRequired  Code = "precondition_required"
	CodeBreakingChange        Code = "breaking_change"    // publishing would break callers
	CodeDraftChanged          Code = "draft_changed"      // since the last apply
	CodeSecretInDocument      Code = "secret_in_document" // in clear text
	CodeSlugTaken             Code = "slug_taken"         // by another flow of the workspace
	CodeAlreadyDecided        Code = "already_decided"    // an approval, by somebody else or by its expiry
	CodeAnswerNotAllowed      Code = "answer_not_allowed" // of an approval, by this key, link or person
	CodeScheduleInvalid       Code = "schedule_invalid"
	CodeTriggerPaused         Code = "trigger_paused"
	CodeSignatureInvalid      Code = "signature_invalid"   // of an incoming webhook
	CodeEventTooOld           Code = "event_too_old"       // an incoming webhook
	CodeUpgradeInProgress     Code = "upgrade_in_progress" // an instance of an earlier release is running
	// CodeDocumentInvalid rejects a flow document on import or publish.
	CodeDocumentInvalid Code = "document_invalid"
)

// Error is a failure that users may see and programs may handle. All other errors are internal
// and are not shown to users.
type Error struct {
	Code      Code          `json:"code"`
	Message   string        `json:"message"`
	Node      string        `json:"node,omitempty"`
	Retryable bool          `json:"retryable"`
	Fields    []Problem     `json:"-"` // problems of the input
	After     time.Duration `json:"-"` // minimum wait before a retry; zero if unknown
	Budget    *Budget       `json:"-"` // set with CodeBudgetExceeded
	Quota     *Quota        `json:"-"` // set with CodeQuotaExceeded
}

// Error returns the message, followed by one line per problem.
func (e *Error) Error() string {
	if len(e.Fields) == 0 {
		return e.Message
	}
	var b strings.Builder
	b.WriteString(e.Message)
	for _, p := range e.Fields {
		fmt.Fprintf(&b, "\n  %s", p)
	}
	return b.String()
}

// Sentence returns only the message for users.
func (e *Error) Sentence() string { return e.Message }

// Is matches another Error of the same code, so errors.Is works with a
// template such as &Error{Code: CodeNotFound}.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Errorf returns an Error with a formatted message.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns the Error that err wraps, or a CodeInternal one that does not reveal the
// cause.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Errorf(CodeInternal, "Something went wrong inside Sluice. The log has the details.")
}

// InField prefixes the message of an Error with the place of the invalid value. Other errors
// are returned unchanged.
func InField(err error, place string) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	own := *e
	own.Message = place + ": " + e.Message
	return &own
}

// Problem is one problem in a document or an input, and its location.
type Problem struct {
	Pointer string `json:"pointer"` // RFC 6901, "" is the whole document
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Node    string `json:"node,omitempty"` // ID of the node, if it is in one
}

// InField reports whether the problem is in the member of that name, or within it.
func (p Problem) InField(name string) bool {
	rest, ok := strings.CutPrefix(p.Pointer, Pointer(name))
	return ok && (rest == "" || rest[0] == '/')
}

// String returns the problem as one line for terminals and logs. It adds the ID of the node,
// because the pointer has only its index: "/nodes/3/config (reply): …".
func (p Problem) String() string {
	at := cmp.Or(p.Pointer, "/")
	if p.Node != "" {
		at += " (" + p.Node + ")"
	}
	return at + ": " + p.Detail
}

// Pointer returns the RFC 6901 JSON Pointer of path tokens.
func Pointer(tokens ...any) string {
	var b strings.Builder
	for _, t := range tokens {
		s := fmt.Sprint(t)
		s = strings.ReplaceAll(s, "~", "~0")
		b.WriteString("/" + strings.ReplaceAll(s, "/", "~1"))
	}
	return b.String()
}

// permanentError is a failure that a retry cannot fix.
type permanentError struct{ error }

// Unwrap returns the marked error, so that errors.Is and errors.As work.
func (e permanentError) Unwrap() error { return e.error }

// Permanent marks an error that a retry cannot fix, such as a stored row that
// cannot be read. Errors without the mark are transient.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

// IsNotFound reports whether an error means that something does not exist, or belongs to another
// workspace.
func IsNotFound(err error) bool { return errors.Is(err, &Error{Code: CodeNotFound}) }

// IsPermanent reports whether an error is marked as permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[permanentError](err)
	return ok
}

// PermanentTries is how often an operation that fails with a permanent error is
// tried, in case the mark is wrong.
const PermanentTries = 3

// MergeProblems appends problems of further checks, except at places that already have one.
func MergeProblems(problems, more []Problem) []Problem {
	if len(problems) == 0 || len(more) == 0 {
		return append(problems, more...)
	}
	blamed := map[string]bool{}
	for _, p := range problems {
		blamed[p.Pointer] = true
	}
	for _, p := range more {
		if !blamed[p.Pointer] {
			problems = append(problems, p)
		}
	}
	return problems
}

// Count returns a number with its noun, such as "2 files". The plural of the noun must end in s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
