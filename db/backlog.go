package db

import (
	"context"
	"fmt"
	"time"

	"sluice/db/core"
	"sluice/db/dbconn"
)

// Backlog is what clean-up has not erased yet although it has expired. A backlog that stays
// means that more runs end than are erased.
type Backlog struct {
	Runs  int64         // at most backlogCounted
	Delay time.Duration // how long the oldest one has been expired
}

// backlogCounted bounds the runs of a backlog that are counted.
const backlogCounted = 100_000

// Backlog returns the runs that are past their retention.
func (s *Retention) Backlog(ctx context.Context) (b Backlog, err error) {
	now, oldest := s.DB.NowMicros(), int64(0)
	err = core.ReaderOf(s.DB).QueryRowContext(ctx, `SELECT count(*), COALESCE(min(q.expires_at), 0) FROM (
	SELECT r.expires_at FROM runs r WHERE r.expires_at > 0 AND r.erased = '' AND r.expires_at <= $1 ORDER BY r.expires_at LIMIT $2) q`, now, backlogCounted).Scan(&b.Runs, &oldest)
	if err != nil {
		return b, fmt.Errorf("count the expired runs: %w", err)
	}
	if b.Runs > 0 {
		b.Delay = time.Duration(now-oldest) * time.Microsecond
	}
	return b, nil
}

// Growth is how much space runs take.
type Growth struct {
	Runs   int64 // that are stored, also those whose content was erased
	PerDay int64 // that ended on a UTC day, on average of the last week or since the first of them
}

// growthDays is the time that Growth.PerDay is the mean of.
const growthDays = 7

// growth counts stored runs and those of the last days. On PostgreSQL the first is an estimate.
func (s *Maintenance) growth(ctx context.Context) (g Growth, err error) {
	count := "SELECT count(*) FROM runs"
	if s.DB.IsPostgres() {
		count = "SELECT CAST(max(greatest(reltuples, 0)) AS BIGINT) FROM pg_class WHERE oid = 'runs'::regclass"
	}
	read := core.ReaderOf(s.DB)
	if err := read.QueryRowContext(ctx, count).Scan(&g.Runs); err != nil {
		return g, fmt.Errorf("count the runs: %w", err)
	}
	var runs, days int64
	today := dbconn.TimeOf(s.DB.NowMicros())
	err = read.QueryRowContext(ctx, "SELECT CAST(COALESCE(sum(u.runs), 0) AS BIGINT), count(DISTINCT u.day) FROM usage_all u WHERE u.day >= $1 AND u.day < $2",
		core.DayOf(today.AddDate(0, 0, -growthDays)), core.DayOf(today)).Scan(&runs, &days)
	if err != nil {
		return g, fmt.Errorf("count the runs of the last days: %w", err)
	}
	if days > 0 {
		g.PerDay = runs / days
	}
	return g, nil
}
