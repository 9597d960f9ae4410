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
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"sluice/db/core"
	"sluice/db/dbconn"
	"sluice/db/gen"
	"sluice/db/masterkey"
	"sluice/flow"
)

// Rotation is the result of rotating the master key.
type Rotation struct {
	Reencrypted int    // number of secrets that were encrypted again
	Unreadable  int    // number of secrets that cannot be read, before as after; the log names each
	KeyFile     string // path of the new key
	OldFile     string // path to which the old key was moved; empty if it was not in a file
}

// RotateMasterKey encrypts every secret with a new key, which becomes the master
// key. It creates the new key in newFile, or reads it if the file exists, as after
// an interrupted rotation. If newFile is empty, the new key is created next to the
// current key file and replaces it at the end. No server may use the database
// during the rotation: if one does, it returns ErrEngineRunning.
func RotateMasterKey(ctx context.Context, cfg core.Config, newFile string) (r Rotation, err error) {
	cfg = cfg.WithDefaults()
	present := cmp.Or(cfg.MasterKeyFile, filepath.Join(cfg.DataDir, masterkey.File))
	if cfg.MasterKey != "" && newFile == "" {
		return r, errors.New("the master key comes from SLUICE_MASTER_KEY, which cannot be changed from here; choose the file for the new key with --new-key-file")
	}
	if cfg.MasterKeyCommand != "" && newFile == "" {
		return r, errors.New("the master key comes from SLUICE_MASTER_KEY_COMMAND, which cannot be changed from here; choose the file for the new key with --new-key-file, and store the key from it")
	}
	inPlace := newFile == ""
	r.KeyFile = cmp.Or(newFile, present+".new")
	fresh, err := masterkey.ReadOrCreate(r.KeyFile)
	if err != nil {
		return r, err
	}
	old, err := (&core.DB{Config: cfg}).MasterKey(false)
	if err != nil {
		return r, err
	}
	if cfg.Keys, err = masterkey.Join(old, fresh); err != nil {
		return r, err
	}
	if r.Reencrypted, r.Unreadable, err = reencryptAll(ctx, cfg, fresh); err != nil || !inPlace {
		return r, err
	}
	return r.replaceKeyFile(present, cfg.Now())
}

// replaceKeyFile replaces the old key file by the new one. At every moment there is a key
// at that path.
func (r Rotation) replaceKeyFile(keyFile string, now time.Time) (Rotation, error) {
	r.OldFile = keyFile + ".until-" + now.UTC().Format("20060102-150405")
	err := os.Link(keyFile, r.OldFile)
	if err == nil {
		err = os.Rename(r.KeyFile, keyFile)
	}
	if err == nil {
		err = dbconn.SyncDir(filepath.Dir(keyFile))
	}
	if err != nil {
		return r, fmt.Errorf("replace the old key file: %w", err)
	}
	r.KeyFile = keyFile
	return r, nil
}

// reencryptAll encrypts all secrets with the new key, and at the end the value that
// identifies the key of the database.
func reencryptAll(ctx context.Context, cfg core.Config, newKey *keyset.Handle) (n, unreadable int, err error) {
	s, err := Open(ctx, cfg)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = cmp.Or(err, s.Close()) }()
	if err := requireNoServer(ctx, s.DB); err != nil {
		return 0, 0, err
	}
	to, err := beginReencryption(ctx, s.DB, newKey)
	if err != nil {
		return 0, 0, err
	}
	for _, col := range sealedColumns {
		if err := to.reencryptColumn(ctx, col); err != nil {
			return to.done, to.unreadable, fmt.Errorf("encrypt %s.%s again: %w", col.table, col.column, err)
		}
	}
	return to.done, to.unreadable, to.finish(ctx)
}

// requireNoServer returns ErrEngineRunning if a server uses the database, and thus the old key.
func requireNoServer(ctx context.Context, s *core.DB) error {
	if !s.IsPostgres() {
		return s.LockEngine(core.EngineInfo{PID: os.Getpid()})
	}
	working, err := s.Reads.CountWorkers(ctx, s.SilentSince())
	if err == nil && working > 0 {
		err = dbconn.ErrEngineRunning
	}
	return err
}

// beginReencryption marks the database as needing both keys.
func beginReencryption(ctx context.Context, s *core.DB, newKey *keyset.Handle) (to *reencryption, err error) {
	to = &reencryption{s: s, prefix: prefixOf(newKey)}
	if to.aead, err = aead.New(newKey); err != nil {
		return to, fmt.Errorf("use the new master key: %w", err)
	}
	mark, err := s.Seal([]byte(core.RotationMark), "meta", "seal", "rotation")
	if err != nil {
		return to, err
	}
	return to, s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		return tx.Queries.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: core.RotationMark, Value: mark})
	})
}

// reencryption encrypts secrets with a new key.
type reencryption struct {
	s      *core.DB
	aead   tink.AEAD // of the new key only
	prefix []byte    // of everything that it encrypts

	done       int // secrets that were encrypted again
	unreadable int // secrets that neither key decrypts, or whose row cannot be read
}

// prefixOf returns the prefix of all ciphertexts of a Tink key: a version byte and
// the key ID.
func prefixOf(h *keyset.Handle) []byte {
	return binary.BigEndian.AppendUint32([]byte{1}, h.KeysetInfo().GetPrimaryKeyId())
}

// sealedColumn is a column with encrypted values in a table with the primary key id,
// and the columns of the associated data; see core.Associated.
type sealedColumn struct {
	table, column string
	ws            flow.WorkspaceID
	owner         string // columns
	field         string
}

// sealedColumns are all encrypted columns. A test compares them with the schema.
var sealedColumns = []sealedColumn{
	{"flows", "signing", "workspace_id", "id", "signing"},
	{"flows", "signing_before", "workspace_id", "id", "signing_before"},
	{"webhook_secrets", "signing", "workspace_id", "id", "signing"},
	{"webhook_secrets", "signing_before", "workspace_id", "id", "signing_before"},
	{"keys", "webhook_secret", "workspace_id", "id", "webhook"},
	{"credentials", "value", "workspace_id", "name", "secret"},
	{"credentials", "signing_before", "workspace_id", "name", "signing_before"},
	{"runs", "webhook", "workspace_id", "id", "webhook"},
	{"runs", "secrets", "workspace_id", "id", "secrets"},
	{"deliveries", "secret", "workspace_id", "id", "secret"},
	{"deliveries", "signature", "workspace_id", "id", "signature"},
	{"triggers", "sealed", "workspace_id", "id", "token"},
	{"second_factors", "secret", "''", "id", "factor"},
}

// sealedPage is the number of rows that are encrypted again in one transaction.
const sealedPage = 500

// sealedRow is an encrypted value with its associated data.
type sealedRow struct {
	id    string
	ws    flow.WorkspaceID
	owner string
	value []byte
}

// reencryptColumn encrypts a column again, row by row. It skips values with the new key,
// which are from an interrupted rotation.
func (to *reencryption) reencryptColumn(ctx context.Context, col sealedColumn) error {
	for after := ""; ; {
		rows, last, err := to.readPage(ctx, col, after)
		if err != nil || last == "" {
			return err
		}
		after = last
		rows = slices.DeleteFunc(rows, func(r sealedRow) bool { return bytes.HasPrefix(r.value, to.prefix) })
		if err := to.reencryptRows(ctx, col, rows); err != nil {
			return err
		}
	}
}

// readPage reads the next secrets of a column in the order of their IDs, so that a rotation that
// is interrupted can be repeated. It leaves out rows that cannot be read. last is the last ID that it
// tried, or "" at the end.
func (to *reencryption) readPage(ctx context.Context, col sealedColumn, after string) (list []sealedRow, last string, err error) {
	list, err = to.read(ctx, col, fmt.Sprintf("> $1 ORDER BY id LIMIT %d", sealedPage), after)
	if core.IsDamage(err) {
		return to.readAlone(ctx, col, after)
	}
	if len(list) > 0 {
		last = list[len(list)-1].id
	}
	return list, last, err
}

// read reads the secrets of a column whose ID meets a condition with one argument.
func (to *reencryption) read(ctx context.Context, col sealedColumn, condition, id string) ([]sealedRow, error) {
	query := fmt.Sprintf("SELECT id, %s, %s, %s FROM %s WHERE length(%s) > 0 AND id %s", col.ws, col.owner, col.column, col.table, col.column, condition)
	rows, err := to.s.Reader.QueryContext(ctx, query, id)
	return dbconn.Collect(rows, err, func(rows *sql.Rows) (r sealedRow, err error) {
		return r, rows.Scan(&r.id, &r.ws, &r.owner, &r.value)
	})
}

// readAlone is readPage with a query for each row. IDs come from the index of the primary key.
func (to *reencryption) readAlone(ctx context.Context, col sealedColumn, after string) (list []sealedRow, last string, err error) {
	rows, err := to.s.Reader.QueryContext(ctx, fmt.Sprintf("SELECT id FROM %s WHERE id > $1 ORDER BY id LIMIT %d", col.table, sealedPage), after)
	ids, err := dbconn.Collect(rows, err, dbconn.ScanText)
	if err != nil {
		return nil, "", err
	}
	for _, id := range ids {
		last = id
		row, err := to.read(ctx, col, "= $1", id)
		if core.IsDamage(err) {
			to.unreadable++
			to.s.Config.Log.Error("a row with a secret cannot be read", "table", col.table, "id", id, "error", err)
			continue
		}
		if err != nil {
			return nil, "", err
		}
		list = append(list, row...)
	}
	return list, last, nil
}

// reencryptRows encrypts the secrets of a page again, in one transaction.
func (to *reencryption) reencryptRows(ctx context.Context, col sealedColumn, rows []sealedRow) error {
	query := fmt.Sprintf(`UPDATE %s SET %s = $1 WHERE id = $2`, col.table, col.column)
	var done, unreadable int
	err := to.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		done, unreadable = 0, 0
		for _, r := range rows {
			sealed, err := to.reencrypt(r.value, r.ws, r.owner, col.field)
			if errors.Is(err, core.ErrSealed) { // it was unreadable before, and stays as it is
				unreadable++
				to.s.Config.Log.Error("a secret cannot be decrypted with either key", "table", col.table, "id", r.id, "error", err)
				continue
			}
			if err != nil {
				return err
			}
			if _, err := tx.DBTX.ExecContext(tx.Ctx, query, sealed, r.id); err != nil {
				return fmt.Errorf("write %s: %w", r.id, err)
			}
			done++
		}
		return nil
	})
	if err == nil {
		to.done, to.unreadable = to.done+done, to.unreadable+unreadable
	}
	return err
}

// reencrypt decrypts a value with either key, encrypts it with the new one, and
// checks that the new key decrypts the result.
func (to *reencryption) reencrypt(sealed []byte, ws flow.WorkspaceID, owner, field string) ([]byte, error) {
	text, err := to.s.Unseal(sealed, ws, owner, field)
	if err != nil {
		return nil, err
	}
	place := core.Associated(ws, owner, field)
	if sealed, err = to.aead.Encrypt(text, place); err != nil {
		return nil, fmt.Errorf("seal %s of %s: %w", field, owner, err)
	}
	if again, err := to.aead.Decrypt(sealed, place); err != nil || !bytes.Equal(again, text) {
		return nil, fmt.Errorf("%s of %s cannot be decrypted with the new key", field, owner)
	}
	return sealed, nil
}

// sealedMeta are the encrypted rows of meta, and the associated data of each.
var sealedMeta = map[string][3]string{
	fileKey:        {"meta", "files", "key"},
	core.SealCheck: {"meta", "seal", "check"},
}

// finish encrypts the rows of meta and removes the rotation mark.
func (to *reencryption) finish(ctx context.Context) error {
	return to.s.Write(ctx, core.Durable, func(tx *core.Tx) error {
		for name, place := range sealedMeta {
			value, err := tx.Queries.FindMeta(tx.Ctx, name)
			if dbconn.IsNoRows(err) {
				continue
			}
			if err == nil {
				value, err = to.reencrypt(value, flow.WorkspaceID(place[0]), place[1], place[2])
			}
			if err == nil {
				err = tx.Queries.SaveMeta(tx.Ctx, gen.SaveMetaParams{Name: name, Value: value})
			}
			if err != nil {
				return fmt.Errorf("re-encrypt %s: %w", name, err)
			}
		}
		if err := to.reencryptAudit(tx); err != nil {
			return fmt.Errorf("re-encrypt %s: %w", auditKey, err)
		}
		mark, err := tx.Queries.FindMeta(tx.Ctx, core.RotationMark)
		if err != nil {
			return fmt.Errorf("end the rotation: %w", err)
		}
		_, err = tx.Queries.TakeMeta(tx.Ctx, gen.TakeMetaParams{Name: core.RotationMark, Value: mark})
		return err
	})
}
