package api

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/flow"
)

func TestStreamKeys(t *testing.T) {
	t.Parallel()
	var reads atomic.Int64
	var down atomic.Bool
	keys := &streamKeys{read: func(_ context.Context, hash string) (*flow.Key, error) {
		if reads.Add(1); down.Load() {
			return nil, errors.New("the database is away")
		}
		return &flow.Key{ID: "key_" + hash}, nil
	}}
	find := func(hash string, age time.Duration) error {
		k, err := keys.find(t.Context(), hash, age)
		if err == nil && k.ID != "key_"+hash {
			err = fmt.Errorf("for %s came %s", hash, k.ID)
		}
		return err
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			if err := find([]string{"a", "b"}[i%2], time.Hour); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := reads.Load(); n != 2 {
		t.Errorf("two keys were read %d times", n)
	}
	down.Store(true)
	if err := find("a", time.Hour); err != nil {
		t.Errorf("a key that was read a moment ago: %v", err)
	}
	if err := find("a", 0); err == nil {
		t.Error("an old look is good enough")
	}
	down.Store(false)
	if err := find("a", 0); err != nil {
		t.Errorf("an error is kept: %v", err)
	}
}
