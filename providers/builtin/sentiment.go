package builtin

import (
	"context"
	"strings"
	"sync"
)

// Sentiment is the attitude of a text toward its subject.
type Sentiment struct {
	Compound float64 // from -1, most negative, to 1, most positive
	// Positive, Neutral and Negative are shares of the text. They add up to 1.
	Positive, Neutral, Negative float64
}

// lexicon is parsed on first use: its 11,000 words take some milliseconds.
var lexicon = sync.OnceValue(newVader)

// Sentiment scores a text with VADER, a lexicon and rules made for English as people write it online: capitals,
// exclamation marks, emoji, negations and words such as "very" count. A text of several sentences gets the mean of its
// sentences: VADER adds up what it finds, so that any longer text would end at one of the extremes.
//
// It returns ErrTooLong beyond MaxText, and the context's error soon after the context ends.
func (m *Model) Sentiment(ctx context.Context, text string) (Sentiment, error) {
	if err := checkLength(text); err != nil {
		return Sentiment{}, err
	}
	var sum Sentiment
	n := 0.0
	for _, s := range splitSentences(text) {
		if err := ctx.Err(); err != nil {
			return Sentiment{}, err
		}
		words := strings.Fields(s.in(text)) // the lexicon splits words at single spaces only
		if len(words) == 0 {
			continue
		}
		score := lexicon().score(strings.Join(words, " "))
		sum.Compound += score.Compound
		sum.Positive += score.Positive
		sum.Neutral += score.Neutral
		sum.Negative += score.Negative
		n++
	}
	if n == 0 {
		return Sentiment{Neutral: 1}, ctx.Err()
	}
	return Sentiment{sum.Compound / n, sum.Positive / n, sum.Neutral / n, sum.Negative / n}, nil
}
