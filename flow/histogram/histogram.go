package histogram

import (
	"math"
	"time"
)

// bucketsPerDoubling makes a bucket's upper bound 19 % larger than its lower one, so that
// the bucket's middle is at most 9 % from any duration in it.
const bucketsPerDoubling = 4

// The first buckets. Those from bucketFirst on are for a millisecond and more.
const (
	BucketNone  = 0 // no duration, such as of a run that never started
	bucketShort = 1 // less than a millisecond
	bucketFirst = 2
)

// Bucket returns the bucket of a duration. Unlike percentiles, the counts of buckets can
// be added up, for instance over several days.
func Bucket(d time.Duration) int {
	if d < time.Millisecond {
		return bucketShort
	}
	return bucketFirst + int(bucketsPerDoubling*math.Log2(float64(d)/float64(time.Millisecond)))
}

// Histogram counts durations by bucket.
type Histogram map[int]int64

// Quantile returns the q-quantile of the durations, within 9 %. q is between 0 and 1. It
// returns 0 if nothing was counted.
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

// middle returns the middle of a bucket: the geometric mean of its bounds, since the scale
// is logarithmic.
func middle(bucket int) time.Duration {
	if bucket == bucketShort {
		return time.Millisecond / 2
	}
	doublings := (float64(bucket-bucketFirst) + 0.5) / bucketsPerDoubling
	return time.Duration(float64(time.Millisecond) * math.Exp2(doublings))
}
