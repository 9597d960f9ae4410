package flow

import "time"

// How long records are kept that no setting controls.
const (
	// IdempotencyLife is how long a repeated start finds the first one.
	IdempotencyLife = 24 * time.Hour
	// EditLife is how long an edit of a draft can be undone, and sent to an editor
	// that reconnects.
	EditLife = 30 * 24 * time.Hour
	// WebhookTestLife is how long test deliveries are kept; they belong to no run.
	WebhookTestLife = 30 * 24 * time.Hour
	// FlowHoursLife is how long the hourly statistics of flows are kept. Pages show
	// one day of them.
	FlowHoursLife = 48 * time.Hour
)
