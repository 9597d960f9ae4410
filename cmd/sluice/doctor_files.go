package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"sluice/db"
	"sluice/db/blobs"
	"sluice/outbound/s3"
)

// filesTimeout bounds the check of the object storage, which is tried several times.
const filesTimeout = 30 * time.Second

// files checks the object storage with a small object.
func (f *findings) files(ctx context.Context, c *Config) {
	client, err := c.objects()
	if client == nil || err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, filesTimeout)
	defer cancel()
	if err := client.Check(ctx); err != nil {
		f.add("files", verdictBad, s3.Explain(err), "The object storage %s cannot be used: %v.", client.Name(), err)
		return
	}
	state, advice := verdictOK, ""
	if client.Settings().Endpoint.Scheme == "http" {
		state, advice = verdictWarn, "Use an endpoint with https, unless the network between is trusted."
	}
	f.add("files", state, advice, "Objects can be stored, read and deleted in %s.", client.Name())
}

// contents checks that the content of every file in object storage is there.
func (f *findings) contents(ctx context.Context, store *db.Store) {
	if err := store.CheckObjects(ctx); errors.Is(err, blobs.ErrForeign) {
		f.add("owner", verdictBad, "Run 'sluice files move --to database', change the prefix in SLUICE_FILES, and run 'sluice files move'. If the other deployment is gone for good, delete the object 'owner' below the prefix.", "The bucket and prefix of SLUICE_FILES belong to another deployment.")
	}
	n, some, err := store.MissingObjects(ctx)
	switch {
	case err != nil:
		f.add("contents", verdictBad, "", "The contents in object storage cannot be checked: %v.", err)
	case n > 0:
		f.add("contents", verdictBad, "Restore the objects, or a backup that was made with --with-files. Their hashes begin with: "+strings.Join(some, ", ")+".",
			"%s in object storage missing or cut.", count(n, "content is", "contents are"))
	default:
		f.add("contents", verdictOK, "", "The object storage has the content of every file.")
	}
}
