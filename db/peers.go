package db

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"

	"sluice/db/dbconn"
	"sluice/flow"
)

// FindPeer returns the instance that works on a run and the address at which
// other instances reach it. It returns the zero Peer if no instance has the run
// or if that instance has no address.
func (s *Instances) FindPeer(ctx context.Context, runID flow.RunID) (flow.Peer, error) {
	row, err := s.DB.Reads.FindRunPeer(ctx, runID)
	if dbconn.IsNoRows(err) || err == nil && row.PeerAddr == "" {
		return flow.Peer{}, nil
	}
	if err != nil {
		return flow.Peer{}, fmt.Errorf("find the instance of %s: %w", runID, err)
	}
	return flow.Peer{Instance: row.ID, Addr: row.PeerAddr}, nil
}

// peerPurpose separates the key of PeerKey from other keys that may be derived
// from the master key.
const peerPurpose = "sluice peers v1"

// PeerKey derives the key with which instances authenticate each other from the
// master key, by HKDF-SHA256. All instances on one database have the same
// master key, so nothing needs to be stored or exchanged.
func (s *Instances) PeerKey() ([]byte, error) {
	handle, err := s.DB.MasterKey(false)
	if err != nil {
		return nil, err
	}
	material := insecurecleartextkeyset.KeysetMaterial(handle)
	for _, k := range material.GetKey() {
		if k.GetKeyId() == material.GetPrimaryKeyId() {
			return hkdf.Key(sha256.New, k.GetKeyData().GetValue(), nil, peerPurpose, sha256.Size)
		}
	}
	return nil, fmt.Errorf("derive the key of peers: the master key has no primary key")
}
