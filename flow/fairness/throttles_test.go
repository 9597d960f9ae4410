package fairness

import (
	"testing"
	"time"
)

func TestTry_Wait(t *testing.T) {
	t.Parallel()
	try := Try{Free: 5}
	for failures, want := range map[int64]time.Duration{
		1: 0, 5: 0, 6: time.Second, 7: 2 * time.Second, 10: 16 * time.Second, 16: 15 * time.Minute, 1 << 40: 15 * time.Minute,
	} {
		if got := try.Wait(failures); got != want {
			t.Errorf("after %d failures %v, wanted %v", failures, got, want)
		}
	}
}
