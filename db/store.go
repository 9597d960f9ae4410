package db

import (
	"context"

	"sluice/db/bases"
	"sluice/db/blobs"
	"sluice/db/cases"
	"sluice/db/children"
	"sluice/db/core"
	"sluice/db/gen"
	"sluice/db/slugs"
	"sluice/db/webhooks"
	"sluice/flow"
	"sluice/flow/fairness"
)

// Store is the open database: one store for each noun, over the same connections. It
// is safe for concurrent use.
//
// The nouns are embedded, so store.Keys.FindKey can also be written store.FindKey.
// Method names therefore contain their noun and are unique among all nouns. All
// methods take the workspace of the caller where there is one, and return
// CodeNotFound for an object of another workspace.
type Store struct {
	*core.DB
	Runs
	webhooks.Deliveries
	webhooks.Endpoints
	Recovery
	Retention
	Flows
	slugs.Slugs
	Versions
	Edits
	Pins
	Approvals
	children.Children
	Forms
	Triggers
	Alarms
	Companions
	bases.Bases
	cases.Cases
	Files
	Keys
	Users
	Members
	Invites
	Sessions
	Workspaces
	Credentials
	webhooks.Signing
	webhooks.WebhookSecrets
	Prices
	Budgets
	Quotas
	RateLimits
	UsageLog
	AuditLog
	Instances
	Maintenance
}

func newStore(c *core.DB) *Store {
	return &Store{
		DB:             c,
		Runs:           Runs{core.Execution{DB: c}},
		Deliveries:     webhooks.Deliveries{DB: c},
		Endpoints:      webhooks.Endpoints{DB: c},
		Recovery:       Recovery{DB: c},
		Retention:      Retention{DB: c},
		Flows:          Flows{DB: c},
		Slugs:          slugs.Slugs{DB: c},
		Versions:       Versions{DB: c},
		Edits:          Edits{DB: c},
		Pins:           Pins{DB: c},
		Approvals:      Approvals{DB: c},
		Children:       children.Children{DB: c},
		Forms:          Forms{DB: c},
		Triggers:       Triggers{DB: c},
		Alarms:         Alarms{DB: c},
		Companions:     Companions{DB: c},
		Bases:          bases.New(c, c.Config.KnowledgeCache),
		Cases:          cases.Cases{DB: c},
		Files:          Files{c, blobs.NewBucket(c)},
		Keys:           Keys{DB: c},
		Users:          Users{DB: c},
		Members:        Members{DB: c},
		Invites:        Invites{DB: c},
		Sessions:       Sessions{DB: c},
		Workspaces:     Workspaces{DB: c},
		Credentials:    Credentials{DB: c},
		Signing:        webhooks.Signing{DB: c},
		WebhookSecrets: webhooks.WebhookSecrets{DB: c},
		Prices:         Prices{DB: c},
		Budgets:        Budgets{DB: c},
		Quotas:         Quotas{DB: c},
		RateLimits:     RateLimits{DB: c},
		UsageLog:       UsageLog{DB: c},
		AuditLog:       AuditLog{DB: c},
		Instances:      Instances{DB: c},
		Maintenance:    Maintenance{DB: c},
	}
}

// Runs stores runs: execution, cancellation, and lists of runs.
type Runs struct{ core.Execution }

// Recovery takes over runs and deliveries whose worker is gone.
type Recovery struct{ DB *core.DB }

// Retention erases content that is older than its retention.
type Retention struct{ DB *core.DB }

// Flows stores flows, their drafts and what lists of flows show.
type Flows struct{ DB *core.DB }

// Versions stores the published versions of flows.
type Versions struct{ DB *core.DB }

// Edits stores the edits that drafts were made with.
type Edits struct{ DB *core.DB }

// Pins stores pinned outputs of nodes.
type Pins struct{ DB *core.DB }

// Approvals stores the questions that steps ask people, and the answers.
type Approvals struct{ DB *core.DB }

// Forms stores the public forms of flows.
type Forms struct{ DB *core.DB }

// Triggers stores what starts runs of flows without a caller, and its events.
type Triggers struct{ DB *core.DB }

// Alarms stores alarms, their state and their messages, and answers their questions about runs.
type Alarms struct{ DB *core.DB }

// Companions stores the revisions of files beside flows.
type Companions struct{ DB *core.DB }

// Files stores uploaded and produced files.
type Files struct {
	DB     *core.DB
	bucket blobs.Bucket // stores the content
}

// Keys stores API keys.
type Keys struct{ DB *core.DB }

// Users stores user accounts.
type Users struct{ DB *core.DB }

// Members stores the members of workspaces and their roles.
type Members struct{ DB *core.DB }

// Invites stores invitations to a workspace and password reset links.
type Invites struct{ DB *core.DB }

// Sessions stores browser sessions.
type Sessions struct{ DB *core.DB }

// Workspaces stores workspaces and their limits.
type Workspaces struct{ DB *core.DB }

// Credentials stores credentials of model providers and other services.
type Credentials struct{ DB *core.DB }

// Prices stores the prices of models.
type Prices struct{ DB *core.DB }

// Budgets stores the limits and budgets of flows and keys.
type Budgets struct{ DB *core.DB }

// Quotas stores the storage quotas of workspaces.
type Quotas struct{ DB *core.DB }

// RateLimits stores counters of requests and of failed sign-ins.
type RateLimits struct{ DB *core.DB }

// UsageLog stores the usage of runs by day.
type UsageLog struct{ DB *core.DB }

// AuditLog stores the audit log, a chain of entries for each workspace.
type AuditLog struct{ DB *core.DB }

// Instances stores the servers that share a database.
type Instances struct{ DB *core.DB }

// Maintenance inspects the database.
type Maintenance struct{ DB *core.DB }

// CheckURL returns an error for a database URL that cannot work. The URL may be empty.
func CheckURL(url string) error { return core.CheckURL(url) }

// Open opens the store, migrates it and reads its master key. It returns an error if
// the database was encrypted with another key.
func Open(ctx context.Context, cfg core.Config) (*Store, error) {
	cfg.CountEndedChildren = children.CountEnded
	c, err := core.Open(ctx, cfg)
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
	if err := openAudit(ctx, s.DB); err != nil {
		return err
	}
	if err := s.AddSlugs(ctx); err != nil {
		return err
	}
	return s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.InsertWorkspace(tx.Ctx, gen.InsertWorkspaceParams{
			ID: flow.DefaultWorkspace, Name: "Default", MaxQueued: fairness.DefaultMaxQueued, CreatedAt: s.NowMicros(),
		})
	})
}

func runsOf(c *core.DB) *Runs { return &Runs{core.Execution{DB: c}} }
