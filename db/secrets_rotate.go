package db

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
	"google.golang.org/protobuf/proto"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
)

// Rotation is what became of rotating the master key.
type Rotation struct {
	Resealed int    // secrets that were sealed anew
	KeyFile  string // where the new key lies
	OldFile  string // where the old key lies now; empty when it came from elsewhere
}

// RotateMasterKey seals every secret with a new key and makes that the master
// key. The new key is made in newFile, or read from it if it is there already,
// as after a rotation that was cut short; empty is beside the present key file,
// whose place it takes at the end. Nobody may use the database meanwhile:
// ErrEngineRunning says that somebody does.
func RotateMasterKey(ctx context.Context, cfg core.Config, newFile string) (r Rotation, err error) {
	cfg = cfg.WithDefaults()
	present := cmp.Or(cfg.MasterKeyFile, filepath.Join(cfg.DataDir, core.KeyFile))
	if cfg.MasterKey != "" && newFile == "" {
		return r, errors.New("the master key comes from SLUICE_MASTER_KEY, which cannot be changed from here; say with --new-key-file where the new one shall lie")
	}
	inPlace := newFile == ""
	r.KeyFile = cmp.Or(newFile, present+".new")
	fresh, err := newKey(r.KeyFile)
	if err != nil {
		return r, err
	}
	old, err := (&core.DB{Config: cfg}).MasterKey(false)
	if err != nil {
		return r, err
	}
	if cfg.Keys, err = bothKeys(old, fresh); err != nil {
		return r, err
	}
	if r.Resealed, err = reseal(ctx, cfg, fresh); err != nil || !inPlace {
		return r, err
	}
	return r.takePlace(present, cfg.Now())
}

// takePlace puts the new key where the old one is. There is a key at that place
// at every instant.
func (r Rotation) takePlace(present string, now time.Time) (Rotation, error) {
	r.OldFile = present + ".until-" + now.UTC().Format("20060102-150405")
	err := os.Link(present, r.OldFile)
	if err == nil {
		err = os.Rename(r.KeyFile, present)
	}
	if err == nil {
		err = core.SyncDir(filepath.Dir(present))
	}
	if err != nil {
		return r, fmt.Errorf("put the new key in the place of the old one: %w", err)
	}
	r.KeyFile = present
	return r, nil
}

// newKey reads the new key, or makes it for its owner alone.
func newKey(path string) (*keyset.Handle, error) {
	text, err := os.ReadFile(path)
	if err == nil {
		return core.ParseKey(string(text))
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the new master key: %w", err)
	}
	return core.CreateKey(path)
}

// bothKeys opens what either key sealed, and seals with the new one.
func bothKeys(old, fresh *keyset.Handle) (*keyset.Handle, error) {
	if old.KeysetInfo().GetPrimaryKeyId() == fresh.KeysetInfo().GetPrimaryKeyId() {
		return nil, errors.New("the new master key is the old one; give another file with --new-key-file")
	}
	both := insecurecleartextkeyset.KeysetMaterial(fresh)
	both.Key = append(both.Key, insecurecleartextkeyset.KeysetMaterial(old).Key...)
	text, err := proto.Marshal(both)
	if err != nil {
		return nil, fmt.Errorf("join the master keys: %w", err)
	}
	return insecurecleartextkeyset.Read(keyset.NewBinaryReader(bytes.NewReader(text)))
}

// reseal seals all secrets with the new key and then the mark by which a
// database knows its key.
func reseal(ctx context.Context, cfg core.Config, fresh *keyset.Handle) (n int, err error) {
	s, err := Open(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	if err := lockOut(ctx, s.DB); err != nil {
		return 0, err
	}
	to, err := beginSealing(ctx, s.DB, fresh)
	if err != nil {
		return 0, err
	}
	for _, col := range sealedColumns {
		done, err := to.column(ctx, col)
		if n += done; err != nil {
			return n, fmt.Errorf("seal %s.%s anew: %w", col.table, col.column, err)
		}
	}
	return n, to.finish(ctx)
}

// lockOut makes sure that nobody works with the old key.
func lockOut(ctx context.Context, s *core.DB) error {
	if s.Pool() == nil {
		return s.LockEngine(core.EngineInfo{PID: os.Getpid()})
	}
	working, err := s.Reads.CountWorkers(ctx, s.SilentSince())
	if err == nil && working > 0 {
		err = dbconn.ErrEngineRunning
	}
	return err
}

// beginSealing marks the database as one that needs both keys.
func beginSealing(ctx context.Context, s *core.DB, fresh *keyset.Handle) (to sealing, err error) {
	to = sealing{s: s, prefix: prefixOf(fresh)}
	if to.aead, err = aead.New(fresh); err != nil {
		return to, fmt.Errorf("use the new master key: %w", err)
	}
	mark, err := s.Seal([]byte(core.RotationMark), "meta", "seal", "rotation")
	if err != nil {
		return to, err
	}
	return to, s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: core.RotationMark, Value: mark})
	})
}

// sealing is sealing secrets with a new key.
type sealing struct {
	s      *core.DB
	aead   tink.AEAD // of the new key alone
	prefix []byte    // what it seals begins with
}

// prefixOf is what Tink puts before everything that a key seals: a version and
// the key's ID.
func prefixOf(h *keyset.Handle) []byte {
	return binary.BigEndian.AppendUint32([]byte{1}, h.KeysetInfo().GetPrimaryKeyId())
}

// sealedColumn is one column that holds sealed values, of a table whose primary
// key is id, and where in a row the place of the secret is written: see
// associated.
type sealedColumn struct {
	table, column string
	ws, owner     string // columns
	field         string
}

// sealedColumns are all of them; a test holds them against the schema.
var sealedColumns = []sealedColumn{
	{"flows", "signing", "workspace_id", "id", "signing"},
	{"flows", "signing_before", "workspace_id", "id", "signing_before"},
	{"webhook_secrets", "signing", "workspace_id", "id", "signing"},
	{"webhook_secrets", "signing_before", "workspace_id", "id", "signing_before"},
	{"keys", "webhook_secret", "workspace_id", "id", "webhook"},
	{"credentials", "value", "workspace_id", "name", "secret"},
	{"credentials", "signing_before", "workspace_id", "name", "signing_before"},
	{"runs", "webhook", "workspace_id", "id", "webhook"},
	{"deliveries", "secret", "workspace_id", "id", "secret"},
	{"deliveries", "signature", "workspace_id", "id", "signature"},
}

// sealedPage is how many rows are sealed anew in one transaction.
const sealedPage = 500

// sealedRow is one value and where it belongs.
type sealedRow struct {
	id, ws, owner string
	value         []byte
}

// column seals a column anew, row by row. What bears the new key already was
// done by a rotation that was cut short.
func (to sealing) column(ctx context.Context, col sealedColumn) (n int, err error) {
	for after := ""; ; {
		rows, err := to.page(ctx, col, after)
		if err != nil || len(rows) == 0 {
			return n, err
		}
		after = rows[len(rows)-1].id
		rows = slices.DeleteFunc(rows, func(r sealedRow) bool { return bytes.HasPrefix(r.value, to.prefix) })
		if err := to.rows(ctx, col, rows); err != nil {
			return n, err
		}
		n += len(rows)
	}
}

func (to sealing) page(ctx context.Context, col sealedColumn, after string) ([]sealedRow, error) {
	query := fmt.Sprintf(`SELECT id, %s, %s, %s FROM %s WHERE id > $1 AND length(%s) > 0 ORDER BY id LIMIT %d`,
		col.ws, col.owner, col.column, col.table, col.column, sealedPage)
	rows, err := to.s.Reader.QueryContext(ctx, query, after)
	return dbconn.Collect(rows, err, func(rows *sql.Rows) (r sealedRow, err error) {
		return r, rows.Scan(&r.id, &r.ws, &r.owner, &r.value)
	})
}

func (to sealing) rows(ctx context.Context, col sealedColumn, rows []sealedRow) error {
	query := fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE id = $2`, col.table, col.column)
	return to.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		for _, r := range rows {
			sealed, err := to.anew(r.value, r.ws, r.owner, col.field)
			if err != nil {
				return err
			}
			if _, err := tx.DBTX.ExecContext(tx.Ctx, query, sealed, r.id); err != nil {
				return fmt.Errorf("write %s: %w", r.id, err)
			}
		}
		return nil
	})
}

// anew opens what either key sealed and seals it with the new one, which must
// then open it alone.
func (to sealing) anew(sealed []byte, ws, owner, field string) ([]byte, error) {
	text, err := to.s.Unseal(sealed, ws, owner, field)
	if err != nil {
		return nil, err
	}
	place := core.Associated(ws, owner, field)
	if sealed, err = to.aead.Encrypt(text, place); err != nil {
		return nil, fmt.Errorf("seal %s of %s: %w", field, owner, err)
	}
	if again, err := to.aead.Decrypt(sealed, place); err != nil || !bytes.Equal(again, text) {
		return nil, fmt.Errorf("%s of %s does not open with the new key", field, owner)
	}
	return sealed, nil
}

// sealedMeta are the rows of meta that are sealed, and the place of each.
var sealedMeta = map[string][3]string{
	fileKey:        {"meta", "files", "key"},
	core.SealCheck: {"meta", "seal", "check"},
}

// finish makes the new key the database's own.
func (to sealing) finish(ctx context.Context) error {
	return to.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		for name, place := range sealedMeta {
			value, err := tx.FindMeta(tx.Ctx, name)
			if dbconn.IsNoRows(err) {
				continue
			}
			if err == nil {
				value, err = to.anew(value, place[0], place[1], place[2])
			}
			if err == nil {
				err = tx.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: name, Value: value})
			}
			if err != nil {
				return fmt.Errorf("re-encrypt %s: %w", name, err)
			}
		}
		if err := to.audit(tx); err != nil {
			return fmt.Errorf("reseal %s: %w", auditKey, err)
		}
		mark, err := tx.FindMeta(tx.Ctx, core.RotationMark)
		if err != nil {
			return fmt.Errorf("end the rotation: %w", err)
		}
		_, err = tx.TakeMeta(tx.Ctx, gen.TakeMetaParams{Name: core.RotationMark, Value: mark})
		return err
	})
}
