package providers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"sluice/flow/value"
)

// readItems adds the items to the messages: all neighbors of one role become one message. It
// checks that every call has one result, because every provider refuses others, and that it comes
// before all other messages of the user, because Anthropic wants that.
func (c *conversation) readItems(ctx context.Context, left *int64) error {
	first, open := len(c.turns), map[string]bool{}
	for i := range c.Items {
		item := &c.Items[i]
		role, p, err := c.readItem(ctx, item, left)
		if err != nil {
			return err
		}
		if err := pair(open, item, role); err != nil {
			return err
		}
		if len(c.turns) == first || c.turns[len(c.turns)-1].role != role {
			c.turns = append(c.turns, message{role: role})
		}
		last := &c.turns[len(c.turns)-1]
		last.parts = append(last.parts, p)
	}
	if len(open) > 0 {
		return unpaired(open)
	}
	return nil
}

// readItem returns an item as a part of a message, and the role of that message.
func (c *conversation) readItem(ctx context.Context, item *Item, left *int64) (role string, p part, err error) {
	switch {
	case item.Type == ItemText && (item.Role == "user" || item.Role == "assistant"):
		return item.Role, part{text: item.Text}, nil
	case item.Type == ItemPicture && item.Image != nil:
		p.picture, err = c.session.readImage(ctx, *item.Image, left)
		return "user", p, err
	case item.Type == ItemCall && item.Call != nil:
		return "assistant", part{call: item.Call}, nil
	case item.Type == ItemResult && item.Result != nil:
		return "user", part{result: item.Result}, nil
	case item.Type == ItemOpaque && item.Opaque != nil:
		return "assistant", part{opaque: item.Opaque}, nil
	}
	return "", part{}, badRequest("An item of the conversation has the type %q and not what belongs to it.", item.Type)
}

// pair checks the next item of a conversation. open are the calls without a result.
func pair(open map[string]bool, item *Item, role string) error {
	switch {
	case item.Type == ItemCall && open[item.Call.ID]:
		return badRequest("Two calls have the ID %q.", item.Call.ID)
	case item.Type == ItemCall:
		open[item.Call.ID] = true
	case item.Type == ItemResult && !open[item.Result.CallID]:
		return badRequest("A result is for the call %q, which is not before it.", item.Result.CallID)
	case item.Type == ItemResult:
		delete(open, item.Result.CallID)
	case role == "user" && len(open) > 0:
		return unpaired(open)
	}
	return nil
}

// unpaired returns the error of calls that have no result.
func unpaired(open map[string]bool) error {
	id := ""
	for name := range open {
		if id == "" || name < id {
			id = name
		}
	}
	return badRequest("The call %q has no result.", id)
}

// kept returns the parts of a message that are sent: what is opaque goes back only to where it
// came from. The members of an Opaque for the next item or the message are returned by the part
// they belong to; -1 is the message.
func (c *conversation) kept(m message) (parts []part, members map[int][]value.Raw) {
	var next []value.Raw
	for _, p := range m.parts {
		if p.opaque == nil && p.isText() && strings.TrimSpace(p.text) == "" {
			continue // refused by some, useless to all
		}
		switch o := p.opaque; {
		case o == nil:
		case o.Wire != c.origin || o.Model != c.Model || !c.can(featOpaque) || !json.Valid(o.Raw):
			continue
		case o.Of == ofMessage:
			c.sent |= featOpaque
			members = addMembers(members, -1, value.Raw(o.Raw))
			continue
		case o.Of == ofNext:
			c.sent |= featOpaque
			next = append(next, value.Raw(o.Raw))
			continue
		default:
			c.sent |= featOpaque
		}
		if len(next) > 0 {
			members = addMembers(members, len(parts), next...)
			next = nil
		}
		parts = append(parts, p)
	}
	return parts, members
}

// addMembers adds raw objects for a part.
func addMembers(members map[int][]value.Raw, at int, raw ...value.Raw) map[int][]value.Raw {
	if members == nil {
		members = map[int][]value.Raw{}
	}
	members[at] = append(members[at], raw...)
	return members
}

// withMembers adds the members of raw objects to an object.
func withMembers(target map[string]any, raw []value.Raw) map[string]any {
	for _, r := range raw {
		for name, v := range r.Members() {
			target[name] = json.RawMessage(v)
		}
	}
	return target
}

// joinedText returns all texts of parts in one.
func joinedText(parts []part) string {
	var b strings.Builder
	for i := range parts {
		if parts[i].isText() {
			b.WriteString(parts[i].text)
		}
	}
	return b.String()
}

// sentArguments returns the arguments of a call as a JSON object, which servers demand even of
// calls whose arguments were empty or invalid. The model sees what it wrote instead of them.
func sentArguments(arguments string) string {
	switch s := strings.TrimSpace(arguments); {
	case s == "" || s == "null":
		return "{}"
	case isObjectText(s):
		return s
	}
	data, _ := json.Marshal(map[string]string{"arguments": arguments})
	return string(data)
}

// isObjectText reports whether a text is a JSON object.
func isObjectText(s string) bool { return value.Raw(s).IsObject() && json.Valid([]byte(s)) }

var (
	plainID     = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)
	mistralID   = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	foreignName = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// sentID returns the ID of a call as this provider accepts it. An ID of another provider is
// replaced by a hash of it; those of Mistral have nine letters and digits.
func (c *conversation) sentID(id string) string {
	preset := &c.session.preset
	fits, length := plainID, 24
	if preset.Name == nameMistral {
		fits, length = mistralID, 9
	}
	if fits.MatchString(id) || preset.Wire == WireOpenAI && preset.Name != nameMistral && len(id) <= 64 && id != "" {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:length]
}

// sentName returns the name of a called tool as every provider accepts it: models invent names.
func sentName(name string) string {
	name = foreignName.ReplaceAllString(name, "_")
	return cmp.Or(name[:min(len(name), 64)], "unknown")
}
