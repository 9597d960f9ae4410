package flow

import "time"

// Pin holds sample outputs that replace a node in test runs of a draft. Pins are stored with
// the draft but are not part of the document.
type Pin struct {
	Node      string
	Outputs   map[string]any
	CreatedAt time.Time
}

// MaxPinBytes bounds the outputs of a pin, as JSON.
const MaxPinBytes = 1 << 20

// Check returns an error for a pin that is too large or has an invalid node ID.
func (p *Pin) Check() error {
	if !NodeIDPattern.MatchString(p.Node) || p.Outputs == nil {
		return Errorf(CodeNotFound, "There is no such node.")
	}
	if size := len(EncodeJSON(p.Outputs)); size > MaxPinBytes {
		return Errorf(CodeBodyTooLarge, "These outputs are %s; pin at most %s.", Size(int64(size)), Size(MaxPinBytes))
	}
	return nil
}

// CanPin reports whether nodes of a kind can be pinned. Inputs and outputs cannot, because
// their values come from the start of the run and from other nodes.
func (k *Kind) CanPin() bool { return k.Role == RoleNode && len(k.Outputs) > 0 }
