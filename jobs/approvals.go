package jobs

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"strings"
	"time"

	"sluice/flow"
	"sluice/flow/filelinks"
)

// approvals lets steps ask people. A person who reads the database or a backup must not be
// able to answer, so the token of a link is never stored. The store has its hash, and the message that
// announces the question has a random name in its place, from which only the server can make the
// token when it sends the message.
type approvals struct {
	store Store
	links *filelinks.Signer // knows the public address; nil: links have only a path
	key   []byte            // makes tokens from their names
}

// storedLink begins the name of a token in a stored link.
const storedLink = "~"

// storedLinks matches the stored links in a message.
var storedLinks = regexp.MustCompile(flow.ApprovalLink(storedLink) + `[A-Z2-7]{26}`)

// AskApproval stores a question and returns the link that answers it, as messages store it. Without
// the base URL of the server, the link is a path.
func (a approvals) AskApproval(ctx context.Context, q *flow.Approval) (link string, err error) {
	name := flow.NewLinkToken()
	if err := a.store.SaveApproval(ctx, flow.Hash([]byte(a.token(q.RunID, name))), q); err != nil {
		return "", err
	}
	if a.links != nil {
		link = a.links.Base
	}
	return link + flow.ApprovalLink(storedLink+name), nil
}

// token returns the token with a name. It depends on the run, so that a message of another run
// that contains the name does not get the token.
func (a approvals) token(runID flow.RunID, name string) string {
	mac := hmac.New(sha256.New, a.key)
	mac.Write([]byte("approval\x00" + string(runID) + "\x00" + name))
	return base32.StdEncoding.EncodeToString(mac.Sum(nil))[:len(name)]
}

// message returns the body of a message as it is sent: with the tokens of its approval links.
func (a approvals) message(d *flow.Delivery, body []byte) []byte {
	if d.RunID == "" || d.Node == "" {
		return body
	}
	return storedLinks.ReplaceAllFunc(body, func(link []byte) []byte {
		_, name, _ := strings.Cut(string(link), storedLink)
		return []byte(flow.ApprovalLink(a.token(d.RunID, name)))
	})
}

// TakeDecision returns the decision, or nil while the question is open; see
// flow.Approvals.
func (a approvals) TakeDecision(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID, path string, now time.Time) (*flow.Decision, error) {
	return a.store.TakeDecision(ctx, ws, runID, path, now)
}
