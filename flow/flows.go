package flow

import "time"

// Flow has a draft, which the editor changes, and published versions, which programs call.
type Flow struct {
	ID                FlowID
	WorkspaceID       WorkspaceID
	Slug              string // name in URLs, unique in the workspace; see CheckSlug
	Name, Description string
	Tags              []string // by name; see ParseTags
	Draft             []byte   // canonical document; it may be invalid
	Rev               int64    // counts edits of the draft
	LiveVersion       int64    // 0 if it was never published
	LiveHash          string   // document hash of the live version
	Limits
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ArchivedAt time.Time // zero unless archived

	AppliedRev    int64  // revision of the draft after the last apply; 0 if it was never applied
	AppliedSource string // source of that apply
}

// Limits bound the runs of a flow.
type Limits struct {
	MaxRunning int64   // concurrent runs, others are queued; 0 means no limit, as below
	MaxQueued  int64   // queued runs above which starts are rejected; 0 means the workspace's limit
	RunsPerDay int64   // runs accepted per UTC day
	USDPerDay  NanoUSD // nano-dollars per UTC day
	// AllowUnpriced lets runs use models without a price although USDPerDay is set.
	// Their cost does not count.
	AllowUnpriced bool
}

// Version is an immutable published snapshot of a flow.
type Version struct {
	FlowID       FlowID
	Number       int64
	DocumentHash string
	Summary      string
	By           string // user ID of the publisher, or the name of a program
	CreatedAt    time.Time
	// Reach is what the flows that are tools could do when the version was published, by node. It is nil without such tools, or if an
	// earlier release published the version.
	Reach map[string]ToolReach
}

// LiveReach is a flow whose live version has tools that run flows.
type LiveReach struct {
	FlowID       FlowID
	Slug, Name   string
	DocumentHash string
	Reach        map[string]ToolReach // see Version
}

// CallerPeriod is how far back a comparison of versions looks for keys that call a flow.
const CallerPeriod = 30 * 24 * time.Hour

// Caller is a key that started runs of a flow, or named it by a former slug.
type Caller struct {
	KeyID, Name, Prefix string
	Runs                int64  // or requests, of a former slug
	LastDay             string // 2006-01-02, UTC
}

// AliasUse counts requests of a key that named a flow by a former slug.
type AliasUse struct {
	WorkspaceID WorkspaceID
	Slug, KeyID string
	At          time.Time // of the newest request
	Count       int64
}

// Workspace owns flows, keys, credentials and runs.
type Workspace struct {
	ID         WorkspaceID
	Name       string
	MaxRunning int64  // concurrent runs of all flows; 0 means no limit
	MaxQueued  int64  // queued runs above which starts are rejected
	Timezone   string // of schedules that name none, as an IANA name; empty means UTC
	CreatedAt  time.Time
}

// DefaultWorkspace is the ID of the workspace that is created at the first start.
const DefaultWorkspace = "default"
