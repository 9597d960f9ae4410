package lists

import (
	"context"
	"time"
)

const (
	// SearchDepth bounds how many rows a search reads.
	SearchDepth = 10_000
	// searchBatch is how many rows a search reads at a time.
	searchBatch = 250
)

// Search looks for the rows of a list that match a condition which no index
// covers. It reads the rows in batches, always at least one, and stops after
// SearchDepth rows or at a time limit.
type Search struct {
	Span  *Span
	Until time.Time // zero means no time limit
	// Next returns the IDs of the first n rows within the span.
	Next func(ctx context.Context, n int) ([]string, error)
	// Match returns the IDs of the rows that match, in the same order. nil matches
	// all rows.
	Match func(ctx context.Context, ids []string) ([]string, error)

	Looked  int    // number of rows read
	Reached string // ID of the last row read, if the search stopped early
}

// First returns the IDs of the first n rows that match.
func (s *Search) First(ctx context.Context, n int) (ids []string, err error) {
	if s.Match == nil {
		return s.Next(ctx, n)
	}
	for len(ids) < n {
		began := time.Now()
		batch, err := s.Next(ctx, searchBatch)
		if err != nil || len(batch) == 0 {
			return ids, err
		}
		found, err := s.Match(ctx, batch)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
		last := batch[len(batch)-1]
		s.Looked += len(batch)
		s.Span.SkipPast(last)
		if len(batch) < searchBatch {
			return ids, nil
		}
		if len(ids) < n && s.isOver(began) {
			s.Reached = last
			return ids, nil
		}
	}
	return ids, nil
}

// isOver reports whether another batch, which would take as long as the one that
// began at a time, exceeds a limit.
func (s *Search) isOver(began time.Time) bool {
	now := time.Now()
	return s.Looked >= SearchDepth || !s.Until.IsZero() && now.Add(now.Sub(began)).After(s.Until)
}
