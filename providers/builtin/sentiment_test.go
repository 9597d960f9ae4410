package builtin

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestSentiment(t *testing.T) {
	t.Parallel()
	m := New()
	t.Run("tells good from bad", func(t *testing.T) {
		t.Parallel()
		for text, sign := range map[string]float64{
			"I love this, it works great!":                     1,
			"The service was friendly and fast.":               1,
			"Thank you so much, you saved my day 😊":            1,
			"This is terrible, I hate it.":                     -1,
			"The worst support ever. I am very disappointed.":  -1,
			"It was not good.":                                 -1,
			"The parcel weighs 3 kg.":                          0,
			"The meeting is on Monday.":                        0,
			"":                                                 0,
			"I love it.\nIt is\tgreat.\n\n\nReally  wonderful": 1,
		} {
			got, err := m.Sentiment(t.Context(), text)
			if err != nil {
				t.Fatal(err)
			}
			if sign == 0 && got.Compound != 0 || got.Compound*sign < 0 || sign != 0 && math.Abs(got.Compound) < 0.2 {
				t.Errorf("%q: %+v", text, got)
			}
			if sum := got.Positive + got.Neutral + got.Negative; math.Abs(sum-1) > 1e-9 {
				t.Errorf("%q: the shares add up to %v", text, sum)
			}
		}
	})
	t.Run("is louder with capitals and exclamation marks", func(t *testing.T) {
		t.Parallel()
		last := 0.0
		for _, text := range []string{"the food is good", "the food is very good", "the food is very good!!!", "the food is VERY GOOD!!!"} {
			got, err := m.Sentiment(t.Context(), text)
			if err != nil || got.Compound <= last {
				t.Errorf("%q: %+v after %v, %v", text, got, last, err)
			}
			last = got.Compound
		}
	})
	t.Run("weighs sentences alike", func(t *testing.T) {
		t.Parallel()
		good, _ := m.Sentiment(t.Context(), "I love it.")
		many, err := m.Sentiment(t.Context(), strings.Repeat("I love it. ", 500))
		if err != nil || math.Abs(many.Compound-good.Compound) > 1e-9 {
			t.Errorf("got %v for one and %v for many, %v", good, many, err)
		}
		mixed, _ := m.Sentiment(t.Context(), "I love it. I hate it.")
		if math.Abs(mixed.Compound) > 0.1 {
			t.Errorf("love and hate make %v", mixed)
		}
	})
	t.Run("ends with its context and its limit", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := m.Sentiment(ctx, "good"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if _, err := m.Sentiment(t.Context(), strings.Repeat("x", MaxText+1)); !errors.Is(err, ErrTooLong) {
			t.Errorf("got %v", err)
		}
	})
}
