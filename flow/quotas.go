package flow

import (
	"fmt"
	"strconv"
)

// Storage counts what a workspace stores. As a quota, each number is an upper
// limit, and 0 means unlimited.
//
// Bytes includes the full size of files, even if files share their content, and the text of
// runs, flow documents, edits, pinned outputs and webhook messages, plus StorageItem bytes for
// each file, run, flow and version. Flows excludes archived flows. Runs excludes runs whose
// content was erased.
type Storage struct{ Bytes, Flows, Runs int64 }

// StorageItem is the number of bytes that each file, run, flow and version
// counts in addition to its content, so that empty ones are not free.
const StorageItem = 512

// SignupQuota is the default quota of workspaces while public sign-up is enabled.
var SignupQuota = Storage{Bytes: 1 << 30, Flows: 100, Runs: 10000}

// Add returns the sum of both.
func (s Storage) Add(o Storage) Storage {
	return Storage{s.Bytes + o.Bytes, s.Flows + o.Flows, s.Runs + o.Runs}
}

// QuotaUnit names one of the numbers of a Storage, as the API and the command line do.
type QuotaUnit string

// The numbers of a Storage.
const (
	QuotaBytes QuotaUnit = "bytes"
	QuotaFlows QuotaUnit = "flows"
	QuotaRuns  QuotaUnit = "runs"
)

// QuotaUnits are all numbers of a Storage, in the order they are shown.
var QuotaUnits = []QuotaUnit{QuotaBytes, QuotaFlows, QuotaRuns}

// Get returns one of the numbers.
func (s Storage) Get(k QuotaUnit) int64 {
	switch k {
	case QuotaFlows:
		return s.Flows
	case QuotaRuns:
		return s.Runs
	}
	return s.Bytes
}

// Set changes one of the numbers.
func (s *Storage) Set(k QuotaUnit, n int64) {
	switch k {
	case QuotaFlows:
		s.Flows = n
	case QuotaRuns:
		s.Runs = n
	default:
		s.Bytes = n
	}
}

// Quota is a limit of a workspace and its usage.
type Quota struct {
	Unit        QuotaUnit
	Limit, Used int64
}

// Refusal returns the error for a request that would exceed the quota. Used
// excludes that request.
func (q Quota) Refusal() *Error {
	used := ""
	switch q.Unit {
	case QuotaFlows:
		used = fmt.Sprintf("This workspace has %s of at most %s flows. Archive flows that you no longer need", thousands(q.Used), thousands(q.Limit))
	case QuotaRuns:
		used = fmt.Sprintf("This workspace keeps %s of at most %s runs. Delete runs, start runs with \"save\": false", thousands(q.Used), thousands(q.Limit))
	default:
		used = fmt.Sprintf("This workspace stores %s of at most %s, and this does not fit. Delete runs or files", Size(q.Used), Size(q.Limit))
	}
	tail := ", or ask the operator of this server to raise the quota."
	if q.Unit != QuotaFlows {
		tail = ", or ask the operator of this server to raise the quota or shorten the retention."
	}
	return &Error{Code: CodeQuotaExceeded, Message: used + tail, Quota: &q}
}

// thousands formats a count with commas.
func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Exceeded returns the Refusal of the first exceeded quota, or nil. It checks only numbers that
// grow. used includes the growth.
func (limit Storage) Exceeded(used, growth Storage) *Error {
	for _, k := range QuotaUnits {
		most, more := limit.Get(k), growth.Get(k)
		if most > 0 && more > 0 && used.Get(k) > most {
			return Quota{Unit: k, Limit: most, Used: used.Get(k) - more}.Refusal()
		}
	}
	return nil
}

// DefaultQuota marks an unset number in WorkspaceStorage.Own, for which the default of the
// server applies.
const DefaultQuota = -1

// WithDefaults returns the quota of a workspace, with the default of the server for each unset
// number. The default workspace has no default quota, because it belongs to the operator.
func (own Storage) WithDefaults(workspaceID WorkspaceID, defaults Storage) Storage {
	if workspaceID == DefaultWorkspace {
		defaults = Storage{}
	}
	for _, k := range QuotaUnits {
		if own.Get(k) == DefaultQuota {
			own.Set(k, defaults.Get(k))
		}
	}
	return own
}

// WorkspaceStorage is the storage and the quotas of a workspace.
type WorkspaceStorage struct {
	ID, Name    string  // of the workspace
	Used, Limit Storage // a Limit of 0 is unlimited
	Own         Storage // what the operator set for this workspace; DefaultQuota where nothing is set
}

// Share returns the used fraction of the fullest quota, which may exceed 1, and the unit of
// that quota. It is 0 without a quota.
func (w *WorkspaceStorage) Share() (share float64, unit QuotaUnit) {
	for _, k := range QuotaUnits {
		if limit := w.Limit.Get(k); limit > 0 {
			if s := float64(w.Used.Get(k)) / float64(limit); s > share || unit == "" {
				share, unit = s, k
			}
		}
	}
	return share, unit
}
