package flow

import "time"

// Pin is sample outputs that stand in for a node when a draft is tried out.
// Pins are kept beside the draft and are not part of the document.
type Pin struct {
	Node      string
	Outputs   map[string]any
	CreatedAt time.Time
}

// MaxPinBytes bounds the outputs of a pin, as JSON.
const MaxPinBytes = 1 << 20

// Check refuses a pin that is too large, or that no node can have.
func (p *Pin) Check() error {
	if !NodeIDPattern.MatchString(p.Node) || p.Outputs == nil {
		return Errorf(CodeNotFound, "There is no such node.")
	}
	if size := len(EncodeJSON(p.Outputs)); size > MaxPinBytes {
		return Errorf(CodeBodyTooLarge, "These outputs are %s; at most %s can be pinned.", Size(int64(size)), Size(MaxPinBytes))
	}
	return nil
}

// CanPin reports whether outputs can be pinned to nodes of a kind. An input has
// the value that the run is started with, and an output passes on what it gets.
func (k *Kind) CanPin() bool { return k.Role == RoleNode && len(k.Outputs) > 0 }
