package knowledge

import (
	"context"
	"slices"
)

// Why a search finds a document, or does not.
const (
	ExplainFound     = "found"
	ExplainNotRanked = "not_ranked" // it is found, but others are better; see Explanation.Rank
	ExplainUnread    = "unread"     // it could not be read, and has no earlier version
	ExplainPart      = "part"       // it belongs to another part
	ExplainFiltered  = "filtered"
	ExplainPhrase    = "phrase" // a quoted phrase does not occur
	ExplainBelow     = "below"  // no word in common, and the meaning is below the minimum
	ExplainNothing   = "nothing"
)

// Explanation says why a search finds a document, or does not.
type Explanation struct {
	Document Document
	Reason   string
	// Rank is the place of its first passage among the hits, counted from 1; 0 beyond MaxTop.
	Rank int
	// Meaning is the similarity of its best passage, and HasMeaning whether one has a vector.
	Meaning    float64
	HasMeaning bool
	Minimum    float64
}

// Searcher searches bases.
type Searcher interface {
	SearchBase(ctx context.Context, b *Base, q *Query) (*Found, error)
}

// Explain says why a search, which was performed with q, finds documents or does not.
func Explain(ctx context.Context, s Searcher, b *Base, q *Query, documents []Document) ([]Explanation, error) {
	all := *q
	all.Top, all.Around = MaxTop, 0
	best, err := s.SearchBase(ctx, b, &all)
	if err != nil {
		return nil, err
	}
	list := make([]Explanation, len(documents))
	for i := range documents {
		e := &list[i]
		e.Document = documents[i]
		if e.Rank = 1 + slices.IndexFunc(best.Hits, func(h Hit) bool { return h.Document.ID == documents[i].ID }); e.Rank > 0 {
			e.Reason = ExplainFound
			if e.Rank > q.Top {
				e.Reason = ExplainNotRanked
			}
			continue
		}
		if err := explainMissing(ctx, s, b, q, e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// explainMissing says why a document is not among the first hits.
func explainMissing(ctx context.Context, s Searcher, b *Base, q *Query, e *Explanation) error {
	d := &e.Document
	if d.Passages == 0 {
		e.Reason = ExplainUnread
		return nil
	}
	if !q.AllParts && q.Part != d.Part {
		e.Reason = ExplainPart
		return nil
	}
	if q.Where != nil {
		if accepted, err := q.Where(d.Source, d.Metadata); err != nil || !accepted {
			e.Reason = ExplainFiltered
			return err
		}
	}
	one, least := *q, -1.0
	one.Document, one.Where, one.Minimum, one.Top, one.Around = d.ID, nil, &least, 1, 0
	e.Minimum = b.Weights().Minimum
	if q.Minimum != nil {
		e.Minimum = *q.Minimum
	}
	found, err := s.SearchBase(ctx, b, &one)
	if err != nil {
		return err
	}
	if len(found.Hits) == 0 {
		e.Reason = ExplainNothing
		if len(Phrases(q.Text)) > 0 {
			e.Reason = ExplainPhrase
		}
		return nil
	}
	h := &found.Hits[0]
	e.Meaning, e.HasMeaning, e.Reason = h.Meaning, h.RankMeaning > 0, ExplainNotRanked
	if h.RankWords == 0 && h.Meaning < e.Minimum {
		e.Reason = ExplainBelow
	}
	return nil
}
