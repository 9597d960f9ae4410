package blobs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

// A bucket and prefix belong to one database. Another one knows none of its objects and would remove them all, so the first
// stores its ID in an object, and only a database with this ID removes objects that no row knows. A copy of the
// database has the ID too, and needs another prefix.
const (
	ownerKey  = "owner"         // of the object
	ownerMeta = "objects_owner" // of the row in meta
	maxOwner  = 100             // bytes
)

// ErrForeign is returned if a bucket and prefix belong to another database.
var ErrForeign = errors.New("the bucket and prefix of SLUICE_FILES belong to another deployment, whose objects are not removed; give each deployment a prefix of its own")

// CheckOwner returns ErrForeign if the storage belongs to another database. One that belongs to none is taken.
func (o *Objects) CheckOwner(ctx context.Context) error {
	id, err := o.id(ctx)
	if err != nil {
		return fmt.Errorf("read the ID of the database: %w", err)
	}
	owner, err := o.owner(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		sum := sha256.Sum256([]byte(id))
		err = o.store.Put(ctx, ownerKey, int64(len(id)), hex.EncodeToString(sum[:]), func() io.Reader { return strings.NewReader(id) })
		if err == nil {
			owner, err = o.owner(ctx) // another database may have written it at the same time
		}
	}
	if err != nil {
		return fmt.Errorf("read the owner of the object storage: %w", err)
	}
	if owner != id {
		return ErrForeign
	}
	return nil
}

// owner returns the ID of the database to which the storage belongs.
func (o *Objects) owner(ctx context.Context) (string, error) {
	content, err := o.store.Get(ctx, ownerKey, 0, -1)
	if err != nil {
		return "", err
	}
	defer content.Close()
	data, err := io.ReadAll(io.LimitReader(content, maxOwner))
	return string(data), err
}

// id returns the ID of the database, which gets one if it has none.
func (o *Objects) id(ctx context.Context) (string, error) {
	id, err := o.s.Reads.FindMeta(ctx, ownerMeta)
	if !dbconn.IsNoRows(err) {
		return string(id), err
	}
	err = o.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		if _, err := tx.Queries.InsertMeta(tx.Ctx, gen.InsertMetaParams{Name: ownerMeta, Value: []byte(rand.Text())}); err != nil {
			return err
		}
		id, err = tx.Queries.FindMeta(tx.Ctx, ownerMeta) // possibly that of another instance
		return err
	})
	return string(id), err
}
