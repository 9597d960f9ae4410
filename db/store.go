package db

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
		Runs:           Runs{c},
		Deliveries:     Deliveries{c},
		Endpoints:      Endpoints{c},
		Recovery:       Recovery{c},
		Retention:      Retention{c},
		Flows:          Flows{c},
		Versions:       Versions{c},
		Edits:          Edits{c},
		Pins:           Pins{c},
		Forms:          Forms{c},
		Files:          Files{c},
		Keys:           Keys{c},
		Users:          Users{c},
		Members:        Members{c},
		Invites:        Invites{c},
		Sessions:       Sessions{c},
		Workspaces:     Workspaces{c},
		Credentials:    Credentials{c},
		Signing:        Signing{c},
		WebhookSecrets: WebhookSecrets{c},
		Prices:         Prices{c},
		Budgets:        Budgets{c},
		Quotas:         Quotas{c},
		RateLimits:     RateLimits{c},
		UsageLog:       UsageLog{c},
		AuditLog:       AuditLog{c},
		Instances:      Instances{c},
		Maintenance:    Maintenance{c},
	}
}

// Runs stores runs and their steps: starting, claiming, recording, listing and waking them, and admitting queued ones.
type Runs struct{ *core }

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
type Files struct{ *core }

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
