package passwords

import (
	"sync"
	"sync/atomic"
	"testing"
)

const password = "correct horse battery"

func TestHasher(t *testing.T) {
	t.Parallel()
	h := NewHasher()
	var now, most atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_ = h.do(t.Context(), func() error {
				for n := now.Add(1); ; {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				_, err := Hash(password)
				now.Add(-1)
				return err
			})
		})
	}
	all.Wait()
	if most.Load() > hashAtOnce {
		t.Errorf("%d at once", most.Load())
	}
	h.patience = 0
	for range hashAtOnce {
		h.slots <- struct{}{}
	}
	if _, err := h.Hash(t.Context(), password); err != errBusy {
		t.Errorf("all slots taken: %v", err)
	}
}
