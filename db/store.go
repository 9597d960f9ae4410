package db

import (
	"context"
	"sluice/db/gen"
	"sluice/flow"
)

// Store is the open database: one store for each noun, over the same
// connections. It is safe for concurrent use.
type Store struct {
	*core
	Runs
	Deliveries
	Endpoints
	Recovery
	Retention
	Flows
	Versions
	Edits
	Pins
	Forms
	Files
	Keys
	Users
	Members
	Invites
	Sessions
	Workspaces
	Credentials
	Signing
	WebhookSecrets
	Prices
	Budgets
	Quotas
	RateLimits
	UsageLog
	AuditLog
	Instances
	Maintenance
}

func newStore(c *core) *Store {
	return &Store{
		core:           c,
		Runs:           runsOf(c),
		Deliveries:     Deliveries{core: c},
		Endpoints:      Endpoints{core: c},
		Recovery:       Recovery{core: c},
		Retention:      Retention{core: c},
		Flows:          Flows{core: c},
		Versions:       Versions{core: c},
		Edits:          Edits{core: c},
		Pins:           Pins{core: c},
		Forms:          Forms{core: c},
		Files:          Files{c, newBucket(c)},
		Keys:           Keys{core: c},
		Users:          Users{core: c},
		Members:        Members{core: c},
		Invites:        Invites{core: c},
		Sessions:       Sessions{core: c},
		Workspaces:     Workspaces{core: c},
		Credentials:    Credentials{core: c},
		Signing:        Signing{core: c},
		WebhookSecrets: WebhookSecrets{core: c},
		Prices:         Prices{core: c},
		Budgets:        Budgets{core: c},
		Quotas:         Quotas{core: c},
		RateLimits:     RateLimits{core: c},
		UsageLog:       UsageLog{core: c},
		AuditLog:       AuditLog{core: c},
		Instances:      Instances{core: c},
		Maintenance:    Maintenance{core: c},
	}
}

// Runs stores runs: those in execution, and what lists and pages show of all.
type Runs struct{ Execution }

// Deliveries stores webhook deliveries: the queue of those that are due, their attempts and lists.
type Deliveries struct{ *core }

// Endpoints stores the addresses that deliveries were sent to, with how they have answered.
type Endpoints struct{ *core }

// Recovery stores runs and deliveries whose worker is gone.
type Recovery struct{ *core }

// Retention stores the content that is deleted when its time is over.
type Retention struct{ *core }

// Flows stores flows, their drafts and what lists of flows show.
type Flows struct{ *core }

// Versions stores the published versions of flows.
type Versions struct{ *core }

// Edits stores the edits that drafts were made with.
type Edits struct{ *core }

// Pins stores pinned outputs of nodes.
type Pins struct{ *core }

// Forms stores the public forms of flows.
type Forms struct{ *core }

// Files stores uploaded and produced files.
type Files struct {
	*core
	bucket bucket // their content
}

// Keys stores API keys.
type Keys struct{ *core }

// Users stores user accounts.
type Users struct{ *core }

// Members stores who belongs to which workspace, and with which role.
type Members struct{ *core }

// Invites stores invitations to a workspace and password reset links.
type Invites struct{ *core }

// Sessions stores browser sessions.
type Sessions struct{ *core }

// Workspaces stores workspaces and their limits.
type Workspaces struct{ *core }

// Credentials stores credentials of model providers and other services.
type Credentials struct{ *core }

// Signing stores the secrets that webhooks of a flow are signed with.
type Signing struct{ *core }

// WebhookSecrets stores the secrets that other webhooks are signed with.
type WebhookSecrets struct{ *core }

// Prices stores the prices of models.
type Prices struct{ *core }

// Budgets stores limits on what flows and keys may spend.
type Budgets struct{ *core }

// Quotas stores how much a workspace may store.
type Quotas struct{ *core }

// RateLimits stores counters of requests and of failed sign-ins.
type RateLimits struct{ *core }

// UsageLog stores what runs consumed, by day.
type UsageLog struct{ *core }

// AuditLog stores the audit log, a chain of entries for each workspace.
type AuditLog struct{ *core }

// Instances stores the servers that share a database.
type Instances struct{ *core }

// Maintenance stores backups and inspection of the database.
type Maintenance struct{ *core }

// Open opens the store, migrates it and reads its master key. A key that does
// not fit what the database was sealed with is refused.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	c, err := openCore(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := newStore(c)
	if err := s.prepare(ctx); err != nil {
		_ = s.Close()
		return nil, s.Advise(err)
	}
	return s, nil
}

// prepare reads the keys of the audit log and adds the default workspace.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.openAudit(ctx); err != nil {
		return err
	}
	return s.write(ctx, durable, func(tx *Tx) error {
		return tx.InsertWorkspace(tx.ctx, gen.InsertWorkspaceParams{
			ID: flow.DefaultWorkspace, Name: "Default", MaxQueued: defaultMaxQueued, CreatedAt: s.now(),
		})
	})
}

func runsOf(c *core) Runs { return Runs{Execution{core: c}} }
