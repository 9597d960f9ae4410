// Package auditkeys computes the HMACs that chain the entries of the audit log. It
// owns what exactly is authenticated, in which order and encoding: changing that
// would make every existing chain look tampered with. It reads and writes nothing;
// the chain itself is kept by package db.
package auditkeys

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"sluice/db/gen"
)

// size is the length of one key in bytes.
const size = sha256.Size

// Keys authenticate the chains: key number 1 first, the newest last. Each
// rotation of the master key adds one. An older key only verifies: someone who
// learned it with the old master key cannot change entries unnoticed, because
// the chain continues under the newer key.
type Keys [][]byte

// Parse splits the stored concatenation of keys. It fails unless there is at least one key
// and all are complete.
func Parse(text []byte) (Keys, error) {
	if len(text) == 0 || len(text)%size != 0 {
		return nil, errors.New("the keys of the audit log are damaged")
	}
	var keys Keys
	for ; len(text) > 0; text = text[size:] {
		keys = append(keys, text[:size])
	}
	return keys, nil
}

// New returns a random key of size bytes, to be appended to the stored ones.
func New() []byte {
	key := make([]byte, size)
	_, _ = rand.Read(key) // never fails
	return key
}

// Newest returns the number of the key that signs.
func (k Keys) Newest() int64 { return int64(len(k)) }

// sum returns the HMAC of the fields under a key, or "" if there is no such
// key. Each field is preceded by its length, so that different lists of fields
// never have the same encoding.
func (k Keys) sum(no int64, fields ...string) string {
	if no < 1 || no > k.Newest() {
		return ""
	}
	mac := hmac.New(sha256.New, k[no-1])
	for _, f := range fields {
		mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(f))))
		mac.Write([]byte(f))
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// Entry returns the MAC of an entry whose predecessor has the MAC previous.
func (k Keys) Entry(previous string, r gen.Audit) string {
	return k.sum(r.KeyNo, "entry", string(r.WorkspaceID), fmt.Sprint(r.Seq), previous,
		r.ID, r.Actor, r.Action, r.Target, r.Detail, r.Ip, fmt.Sprint(r.CreatedAt))
}

// Chain returns the MAC of the row that records where a chain starts and ends.
func (k Keys) Chain(c gen.AuditChain) string {
	return k.sum(c.KeyNo, "chain", string(c.WorkspaceID), fmt.Sprint(c.BeganAt), fmt.Sprint(c.Adopted),
		fmt.Sprint(c.StartSeq), c.StartMac, fmt.Sprint(c.PrunedAt), fmt.Sprint(c.LastSeq), c.LastMac)
}

// Holds reports whether a chain's row is unchanged since Sluice wrote it.
func (k Keys) Holds(c gen.AuditChain) bool {
	want := k.Chain(c)
	return want != "" && hmac.Equal([]byte(want), []byte(c.Mac))
}
