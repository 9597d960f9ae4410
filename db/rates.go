package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/flow/fairness"
)

// takeRate implements a leaky bucket (GCRA) in one statement: until_at is the time
// until which a name has used its rate. The statement advances it by one step
// unless it would be more than a minute ahead. The transaction is not synced.
// failed_at, the age of the row, is updated at most once an hour, because updating
// its index makes the write more expensive.
const takeRate = `WITH clock AS (
	SELECT COALESCE($3::bigint, CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)) AS now,
		set_config('synchronous_commit', 'off', true) AS relaxed
), taken AS (
	INSERT INTO throttles AS t (name, failures, failed_at, until_at) SELECT $1, 0, now, now + $2::bigint FROM clock
	ON CONFLICT (name) DO UPDATE SET until_at = GREATEST(t.until_at, excluded.failed_at) + $2::bigint,
		failed_at = CASE WHEN excluded.failed_at - t.failed_at > 3600000000 THEN excluded.failed_at ELSE t.failed_at END
	WHERE GREATEST(t.until_at, excluded.failed_at) + $2::bigint <= excluded.failed_at + 60000000
	RETURNING until_at
)
SELECT EXISTS (SELECT 1 FROM taken),
	COALESCE((SELECT until_at FROM taken), (SELECT until_at FROM throttles WHERE name = $1), now + 60000000) - now
FROM clock`

// TakeRate counts one request against the limit per minute of a name, for all
// instances together. It returns nil on SQLite, where the single process counts in
// memory.
func (s *RateLimits) TakeRate(ctx context.Context, name string, perMinute int64) (*fairness.Rate, error) {
	if !s.DB.IsPostgres() {
		return nil, nil
	}
	step := max(time.Minute/time.Duration(perMinute), time.Microsecond)
	var now *int64 // nil for the database's clock, because the clocks of machines differ
	if !s.DB.OwnClock {
		given := s.DB.NowMicros()
		now = &given
	}
	var accepted bool
	var used int64
	if err := s.DB.Reader.QueryRowContext(ctx, takeRate, name, step.Microseconds(), now).Scan(&accepted, &used); err != nil {
		return nil, fmt.Errorf("count a request: %w", err)
	}
	return fairness.NewRate(accepted, core.DurationOf(used), step), nil
}
