package histogram

import (
	"math"
	"time"
)

// bucketsPerDoubling makes a bucket's upper bound 19 % larger than its lower
// one, so that its middle is at most 9 % from whatever fell into it.
const bucketsPerDoubling = 4

// Buckets below those of a millisecond and more.
const (
	BucketNone  = 0 // no duration, as of a run that never started
	bucketShort = 1 // less than a millisecond
	bucketFirst = 2
)

// Bucket is where a duration is counted. Counts of buckets can be added up,
// which a percentile cannot.
func Bucket(d time.Duration) int {
	if d < time.Millisecond {
		return bucketShort
	}
	return bucketFirst + int(bucketsPerDoubling*math.Log2(float64(d)/float64(time.Millisecond)))
}

// Histogram counts durations by bucket.
type Histogram map[int]int64

// Quantile is a duration that the share q of all does not exceed, within 9 %;
// 0 when nothing was counted.
func (h Histogram) Quantile(q float64) time.Duration {
	var total, last, seen int64
	for b, n := range h {
		if b != BucketNone {
			total, last = total+n, max(last, int64(b))
		}
	}
	rank := int64(math.Ceil(q * float64(total)))
	for b := bucketShort; b <= int(last); b++ {
		if seen += h[b]; seen > 0 && seen >= rank {
			return middle(b)
		}
	}
	return 0
}

// middle is the middle of a bucket on the scale it belongs to.
func middle(bucket int) time.Duration {
	if bucket == bucketShort {
		return time.Millisecond / 2
	}
	doublings := (float64(bucket-bucketFirst) + 0.5) / bucketsPerDoubling
	return time.Duration(float64(time.Millisecond) * math.Exp2(doublings))
}
