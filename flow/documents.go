package flow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"sluice/flow/value"
)

// Schema names the document format this code reads and writes.
const Schema = "sluice.flow/v1"

// Document is the definition of a flow: readable, diffable and free of secrets.
type Document struct {
	Schema      string  `json:"schema"`
	Slug        string  `json:"slug,omitempty"` // name in URLs; only in files and responses, because it is stored with the flow
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Nodes       []Node  `json:"nodes"`
	Edges       []Edge  `json:"edges"`
	Groups      []Group `json:"groups,omitempty"`
}

// Node is one box in a flow.
type Node struct {
	ID       string         `json:"id"`
	Kind     string         `json:"kind"`
	Label    string         `json:"label,omitempty"`
	Position *Position      `json:"position,omitempty"`
	Color    string         `json:"color,omitempty"`
	Disabled bool           `json:"disabled,omitempty"`
	Retry    *Retry         `json:"retry,omitempty"`
	TimeoutS float64        `json:"timeout_s,omitempty"`
	OnError  *OnError       `json:"on_error,omitempty"`
	Tool     *Tool          `json:"tool,omitempty"`
	Config   map[string]any `json:"config"`
	// ConfigOrder lists names of Config in the order in which they were written. It may be
	// incomplete or name removed fields; see ConfigNames.
	ConfigOrder []string `json:"-"`
}

// ConfigNames returns the names of the config in the order in which they were written, and then
// the others, sorted.
func (n *Node) ConfigNames() []string {
	names := make([]string, 0, len(n.Config))
	for _, name := range n.ConfigOrder {
		if _, set := n.Config[name]; set {
			names = append(names, name)
		}
	}
	if len(names) == len(n.Config) {
		return names
	}
	listed := len(names)
	for name := range n.Config {
		if !slices.Contains(names[:listed], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names[listed:])
	return names
}

// Equal reports whether two nodes differ at most in the order of members.
func (n *Node) Equal(other *Node) bool {
	a, errA := value.Decode(EncodeJSON(n))
	b, errB := value.Decode(EncodeJSON(other))
	return errA == nil && errB == nil && value.Equal(a, b)
}

// MarshalJSON writes the members in the order of the struct, and those of the config in the order
// in which they were written.
func (n Node) MarshalJSON() ([]byte, error) {
	config := &Object{}
	for _, name := range n.ConfigNames() {
		config.Set(name, n.Config[name])
	}
	type plain Node
	return EncodeJSON(struct {
		plain
		Config *Object `json:"config"`
	}{plain(n), config}), nil
}

// Position is a place on the canvas, in its own units.
type Position struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Retry is the retry policy of a step. It applies to retryable errors.
type Retry struct {
	Attempts int     `json:"attempts"`            // maximum number of failed attempts, including the first
	BackoffS float64 `json:"backoff_s,omitempty"` // pause after the first failure, doubled after each
}

// OnError is the error handling of a step. A nil *OnError fails the run.
type OnError struct {
	Route    bool           // an error port outputs the error
	Continue map[string]any // values for output ports, as if it had succeeded
}

// MarshalJSON writes "route" or {"continue": …}.
func (o OnError) MarshalJSON() ([]byte, error) {
	if o.Route {
		return []byte(`"route"`), nil
	}
	if o.Continue == nil {
		return []byte(`{"continue":{}}`), nil
	}
	return EncodeJSON(map[string]any{"continue": o.Continue}), nil
}

// Edge connects an output port to an input port, both written node.port.
type Edge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Group frames nodes on the canvas.
type Group struct {
	ID    string   `json:"id"`
	Label string   `json:"label,omitempty"`
	Color string   `json:"color,omitempty"`
	Nodes []string `json:"nodes"`
}

// Limits of a document.
const (
	MaxDocumentBytes = 4 << 20
	MaxNodeTimeoutS  = 24 * 3600
	MaxRetryAttempts = 20
	MaxBackoffS      = 24 * 3600
)

var (
	// NodeIDPattern matches the IDs of nodes. They are parts of port references
	// ("node.port"), URLs and file names, so they need no escaping anywhere.
	NodeIDPattern = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)
	// InputNamePattern matches the names of inputs and outputs, which are member names in
	// JSON and variable names in code samples.
	InputNamePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)
)

// Encode returns the document as indented JSON, the form of exported files.
func (d *Document) Encode() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, EncodeJSON(d), "", "  "); err != nil {
		panic("flow: encode document: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// Compact returns the document as compact JSON, the form in which it is stored. It keeps the order
// of the members in configs.
func (d *Document) Compact() []byte { return EncodeJSON(d) }

// DocumentHash returns the hash under which the result of Compact is stored: the SHA-256 of the
// document with sorted members. If its members have another order, a point and a hash of that order
// follow, so that both can be stored. The order makes no new version; see SameVersion.
func DocumentHash(document []byte) string {
	v, err := value.Decode(document)
	if err != nil {
		return Hash(document)
	}
	nodes, _ := value.Get(v, "nodes").([]any)
	for i := range nodes {
		if n, ok := nodes[i].(*Object); ok {
			for _, name := range []string{"config", "on_error", "tool"} {
				if n.Has(name) {
					n.Set(name, value.Plain(n.Get(name))) // a map is encoded with sorted members
				}
			}
		}
	}
	sorted := EncodeJSON(v)
	if bytes.Equal(sorted, document) {
		return Hash(document)
	}
	return Hash(sorted) + "." + Hash(document)[:orderDigits]
}

// orderDigits is the length of the part of a document's hash that tells orders apart.
const orderDigits = 16

// SameVersion reports whether the documents of two hashes differ at most in the order of members.
func SameVersion(hash, other string) bool {
	hash, _, _ = strings.Cut(hash, ".")
	other, _, _ = strings.Cut(other, ".")
	return hash == other
}

// Hash returns the SHA-256 of data in hexadecimal digits.
func Hash(data []byte) string {
	sum := sha256.Sum256(data)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// Node returns the node with an ID, or nil.
func (d *Document) Node(id string) *Node {
	for i := range d.Nodes {
		if d.Nodes[i].ID == id {
			return &d.Nodes[i]
		}
	}
	return nil
}

// IsFed reports whether an edge arrives at a port.
func (d *Document) IsFed(node, port string) bool {
	return slices.ContainsFunc(d.Edges, func(e Edge) bool { return e.To == node+"."+port })
}

// RoleOf returns the role of a node in its flow; RoleNode if the kind is unknown.
func RoleOf(kinds *Registry, n *Node) Role {
	if k := kinds.Find(n.Kind); k != nil {
		return k.Role
	}
	return RoleNode
}

// NameOf returns the name that the API uses for an input or output node, or "".
func NameOf(n *Node) string { s, _ := n.Config["name"].(string); return s }
