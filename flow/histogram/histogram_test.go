package histogram

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		counted Histogram
		q       float64
		from    time.Duration
		to      time.Duration
	}{
		"nothing":               {nil, .95, 0, 0},
		"none that started":     {Histogram{BucketNone: 9}, .95, 0, 0},
		"less than measured":    {Histogram{Bucket(0): 1}, .5, 1, time.Millisecond},
		"one":                   {Histogram{Bucket(2 * time.Second): 1}, .95, 1800 * time.Millisecond, 2200 * time.Millisecond},
		"the slow twentieth":    {Histogram{Bucket(time.Second): 94, Bucket(time.Minute): 6}, .95, 54 * time.Second, 66 * time.Second},
		"not yet a twentieth":   {Histogram{Bucket(time.Second): 95, Bucket(time.Minute): 5}, .95, 900 * time.Millisecond, 1100 * time.Millisecond},
		"those that waited not": {Histogram{BucketNone: 99, Bucket(time.Second): 1}, .5, 900 * time.Millisecond, 1100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := c.counted.Quantile(c.q); got < c.from || got > c.to {
				t.Errorf("got %s, want %s to %s", got, c.from, c.to)
			}
		})
	}
}

// TestHistogram_is_within_9_percent compares with what sorting finds.
func TestHistogram_is_within_9_percent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var all []time.Duration
		h := Histogram{}
		for range 1 + random.IntN(300) {
			d := time.Duration(random.ExpFloat64() * float64(3*time.Second)).Truncate(time.Microsecond)
			if d < time.Millisecond {
				continue
			}
			all, h[Bucket(d)] = append(all, d), h[Bucket(d)]+1
		}
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		for _, q := range []float64{.5, .95} {
			want := all[max(0, (len(all)*int(q*100)+99)/100-1)]
			if got := h.Quantile(q); float64(got) < .91*float64(want) || float64(got) > 1.095*float64(want) {
				t.Errorf("quantile %v of %d: got %s, want %s", q, len(all), got, want)
			}
		}
	}
}
