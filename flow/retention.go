package flow

import "time"

// Retention periods that have no setting.
const (
	// IdempotencyLife is how long idempotency keys of starts are kept.
	IdempotencyLife = 24 * time.Hour
	// OccurrenceLife is how long the same event of a trigger cannot start a second run.
	OccurrenceLife = 7 * 24 * time.Hour
	// EditLife is how long an edit of a draft can be undone, and sent to an editor
	// that reconnects.
	EditLife = 30 * 24 * time.Hour
	// WebhookTestLife is how long test deliveries are kept; they belong to no run.
	WebhookTestLife = 30 * 24 * time.Hour
	// FlowHoursLife is how long the hourly statistics of flows are kept. Pages show
	// one day of them.
	FlowHoursLife = 48 * time.Hour
)
