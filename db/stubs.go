package db

import (
	"context"
	"time"

	"sluice/flow"
)

// StartRun accepts a run in one durable write: idempotency row, run row,
// admission and, when it is admitted, its job.
func (s *Store) StartRun(ctx context.Context, n NewRun) (Started, error) { panic("unfinished") }

// FindSteps returns the steps of a run, by path.
func (s *Store) FindSteps(ctx context.Context, ws, runID string) ([]flow.Step, error) {
	panic("unfinished")
}

// WriteRun records progress of a run in one transaction. It returns ErrFenced
// when the run's attempt is no longer the present one or the run has ended.
func (s *Store) WriteRun(ctx context.Context, w flow.RunWrite) error { panic("unfinished") }

// RequestCancel asks for the run to end. A run that no worker holds is handed
// to one at once, which ends it. An ended run is returned as it is.
func (s *Store) RequestCancel(ctx context.Context, ws, flowID, runID string) (*flow.Run, error) {
	panic("unfinished")
}

// CancelRequested returns the IDs of runs held by the instance's workers that
// somebody asked to cancel. On SQLite there is one instance, so all count.
func (s *Store) CancelRequested(ctx context.Context, instance string) ([]string, error) {
	panic("unfinished")
}

// LoadRun hands a run and its steps to a worker, or ErrFenced when the attempt
// is no longer the present one.
func (s *Store) LoadRun(ctx context.Context, runID string, attempt int64) (*flow.Run, []flow.Step, error) {
	panic("unfinished")
}

// HandBack returns runs to the queue at shutdown, attempt by run ID. It counts
// no crash; those that are fenced are passed over.
func (s *Store) HandBack(ctx context.Context, attempts map[string]int64) error { panic("unfinished") }

// EraseRun erases the content of an ended run and leaves a tombstone.
func (s *Store) EraseRun(ctx context.Context, ws, flowID, runID string, code flow.Code) error {
	panic("unfinished")
}

// ExpireRuns erases up to limit runs whose retention is over.
func (s *Store) ExpireRuns(ctx context.Context, now time.Time, limit int) (int, error) {
	panic("unfinished")
}

// EraseUnsaved erases up to limit ended runs that were started with save=false
// and whose deliveries have ended.
func (s *Store) EraseUnsaved(ctx context.Context, limit int) (int, error) { panic("unfinished") }

// DropTombstones removes up to limit erased runs that ended before olderThan.
func (s *Store) DropTombstones(ctx context.Context, olderThan time.Time, limit int) (int, error) {
	panic("unfinished")
}

// SetCapacity sets how many runs this process works on at once.
func (s *Store) SetCapacity(n int) { panic("unfinished") }

// AdmitRuns admits up to limit queued runs while there is room. Ends of runs
// admit by themselves; this is for room that came otherwise: a raised limit, a
// new instance, rows of a process without a queue.
func (s *Store) AdmitRuns(ctx context.Context, limit int) (int, error) { panic("unfinished") }

// Suspect is a run that was cut by a crash at least twice with nothing
// recorded between. It is held back until EnqueueRun.
type Suspect struct {
	RunID, WorkspaceID, FlowID string
	Attempt                    int64
	Crashes                    int
}

// RecoveryReport says what Recover found and did.
type RecoveryReport struct {
	Runs       int // runs handed back to the queue
	Deliveries int // deliveries that are due again
	Suspects   []Suspect
}

// Recover hands what dead workers held back to the queue. On SQLite it is
// called once at start, holding the engine lock, when nothing of ours runs; on
// PostgreSQL from time to time, for instances that have fallen silent.
func (s *Store) Recover(ctx context.Context, instanceID string) (RecoveryReport, error) {
	panic("unfinished")
}

// EnqueueRun puts a suspect back into the queue.
func (s *Store) EnqueueRun(ctx context.Context, runID string) error { panic("unfinished") }

// Heartbeat says that this instance lives and how many workers it has.
func (s *Store) Heartbeat(ctx context.Context, instanceID string, workers int) error {
	panic("unfinished")
}

// LeaveInstance removes the instance at shutdown, once it holds nothing.
func (s *Store) LeaveInstance(ctx context.Context, instanceID string) error { panic("unfinished") }

// DueWakes hands waiting runs whose time has come to the queue. next is when
// the earliest of the others is due, zero when there is none.
func (s *Store) DueWakes(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error) {
	panic("unfinished")
}

// DueDeliveries hands deliveries that are due to the queue; next as in DueWakes.
func (s *Store) DueDeliveries(ctx context.Context, now time.Time, limit int) (n int, next time.Time, err error) {
	panic("unfinished")
}

// DeliveryOutcome is what an attempt at a delivery led to.
type DeliveryOutcome struct {
	Attempt int64              // of the job, as given to FindDelivery
	State   flow.DeliveryState // pending when it is to be tried again
	NextAt  time.Time          // when, if pending
}

// DeliveryRecord is a delivery of the log with all its attempts.
type DeliveryRecord struct {
	flow.Delivery
	Attempts []flow.DeliveryAttempt
}

// FindDelivery hands a delivery to a worker, its secrets opened, or ErrFenced
// when the job's attempt is no longer the present one. Delivery.Attempt counts
// the attempt about to be made.
func (s *Store) FindDelivery(ctx context.Context, id string, attempt int64) (*flow.Delivery, error) {
	panic("unfinished")
}

// RecordAttempt records an attempt and what follows. The store numbers it.
func (s *Store) RecordAttempt(ctx context.Context, a flow.DeliveryAttempt, next DeliveryOutcome) error {
	panic("unfinished")
}

// ListDeliveries returns deliveries of a flow with their attempts, newest first.
func (s *Store) ListDeliveries(ctx context.Context, ws, flowID, beforeID string, limit int) ([]DeliveryRecord, error) {
	panic("unfinished")
}

// DeliveryFlow tells which flow a delivery belongs to.
func (s *Store) DeliveryFlow(ctx context.Context, ws, deliveryID string) (string, error) {
	panic("unfinished")
}

// Redeliver starts a new series of attempts now, under the same ID.
func (s *Store) Redeliver(ctx context.Context, ws, deliveryID string) (*flow.Delivery, error) {
	panic("unfinished")
}

// Credential is a named secret that a flow uses to reach a provider. The
// secret itself is only given by ReadSecret.
type Credential struct {
	ID, WorkspaceID, Name string
	Provider              string
	Hosts                 []string // hosts it may be sent to
	CreatedAt, UpdatedAt  time.Time
}

// SaveCredential adds a credential or replaces the one of its name.
func (s *Store) SaveCredential(ctx context.Context, c Credential, secret string) error {
	panic("unfinished")
}

// FindCredential returns a credential without its secret.
func (s *Store) FindCredential(ctx context.Context, ws, name string) (Credential, error) {
	panic("unfinished")
}

// ReadSecret opens the secret of a credential and says where it may be sent.
func (s *Store) ReadSecret(ctx context.Context, ws, name string) (secret string, hosts []string, err error) {
	panic("unfinished")
}

// ListCredentials returns the credentials of a workspace, by name.
func (s *Store) ListCredentials(ctx context.Context, ws string) ([]Credential, error) {
	panic("unfinished")
}

// RemoveCredential removes a credential.
func (s *Store) RemoveCredential(ctx context.Context, ws, name string) error { panic("unfinished") }

// User is a person who can log in.
type User struct {
	ID, Email, PasswordHash string
	Role                    string // owner, editor or viewer of the default workspace
	CreatedAt               time.Time
}

// CreateUser adds a person with a role in the default workspace.
func (s *Store) CreateUser(ctx context.Context, email, passwordHash, role string) (*User, error) {
	panic("unfinished")
}

// FindUserByEmail returns a person by e-mail address, whatever its case.
func (s *Store) FindUserByEmail(ctx context.Context, email string) (*User, error) {
	panic("unfinished")
}

// AuditEntry is one line of the audit log.
type AuditEntry struct {
	ID, WorkspaceID, Actor, Action, Target, Detail string
	CreatedAt                                      time.Time
}

// Audit adds a line to the audit log.
func (s *Store) Audit(ctx context.Context, ws, actor, action, target, detail string) error {
	panic("unfinished")
}

// ListAudit returns the audit log before an ID, newest first.
func (s *Store) ListAudit(ctx context.Context, ws, beforeID string, limit int) ([]AuditEntry, error) {
	panic("unfinished")
}

// UsageDay is what one flow used on one UTC day by one key and model. The
// fields of runs are filled where Model is empty, tokens and cost where they
// arose, so sums over any selection are right.
type UsageDay struct {
	Day                               string // 2006-01-02
	FlowID, KeyID, Model              string
	Runs, Succeeded, Failed, Canceled int64
	Steps                             int64
	Usage                             flow.Usage
	Duration                          time.Duration // sum from start to end of the runs
}

// Usage returns the days from and to which the times belong, both included.
func (s *Store) Usage(ctx context.Context, ws string, from, to time.Time) ([]UsageDay, error) {
	panic("unfinished")
}

// KeySpent is what a key has cost on the UTC day of a time, in nano-dollars.
func (s *Store) KeySpent(ctx context.Context, ws, keyID string, day time.Time) (int64, error) {
	panic("unfinished")
}

// Depth counts what is open, for metrics.
type Depth struct {
	Queued, Admitted, Waiting int64 // runs
	Deliveries                int64 // pending
}

// QueueDepth counts open runs and deliveries.
func (s *Store) QueueDepth(ctx context.Context) (Depth, error) { panic("unfinished") }
