package blobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/db/dbconn"
	"sluice/db/gen"
)

const (
	// listInterval is how often the storage is listed for objects without a row, and how old these must be.
	listInterval = 24 * time.Hour
	sweepBatch   = 100
)

// Sweep removes uploads that have stalled and objects that were abandoned. Once a day it lists the storage
// and removes objects without a row, which a request that arrived late can leave.
func (o *Objects) Sweep(ctx context.Context, before time.Time) error {
	for {
		ids, err := o.s.Reads.ListUploads(ctx, gen.ListUploadsParams{TouchedBefore: dbconn.Micros(before), MaxRows: sweepBatch})
		if err != nil {
			return err
		}
		for _, id := range ids {
			if isObject(id) {
				err = o.abandon(ctx, id, dbconn.Micros(before))
			} else {
				err = dropUpload(ctx, o.s, id)
			}
			if err != nil {
				return fmt.Errorf("abort %s: %w", id, err)
			}
		}
		if len(ids) < sweepBatch {
			break
		}
	}
	if err := o.local.Sweep(ctx, before); err != nil {
		return err
	}
	now := o.s.Config.Now()
	if now.Sub(o.listedAt).Abs() < listInterval { // the clock may be set back
		return nil
	}
	switch err := o.CheckOwner(ctx); {
	case errors.Is(err, ErrForeign):
		o.s.Config.Log.Error(err.Error())
	case err != nil:
		return err
	default:
		if err := o.RemoveUnknown(ctx, now.Add(-listInterval)); err != nil {
			return err
		}
	}
	o.listedAt = now
	return nil
}

// removeUnused removes content that no row of a file has any more. A process without access to the storage
// leaves it when it removes a file.
func (o *Objects) removeUnused(ctx context.Context, hash string) error {
	_, err := o.s.Reads.FindHash(ctx, hash)
	if dbconn.IsNoRows(err) {
		return o.Remove(ctx, hash)
	}
	return err
}

// RemoveUnknown removes objects from before a time that no row knows.
func (o *Objects) RemoveUnknown(ctx context.Context, before time.Time) error {
	return o.store.List(ctx, objectPrefix, func(key string, _ int64, modified time.Time) error {
		hash := hashOfKey(key)
		if hash == "" || !modified.Before(before) {
			return nil
		}
		// The upload is looked for first, because its row is deleted when the blob gets its own.
		if _, err := o.s.Reads.FindUpload(ctx, key); !dbconn.IsNoRows(err) {
			return err
		}
		blob, err := o.s.Reads.FindBlob(ctx, hash)
		if err == nil && blob.UploadID == key {
			return o.removeUnused(ctx, hash)
		}
		if err != nil && !dbconn.IsNoRows(err) {
			return err
		}
		o.s.Config.Log.Warn("an object without a file is removed", "object", key)
		return o.store.Delete(ctx, key)
	})
}
