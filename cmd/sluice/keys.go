package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/flow"
	flowapi "sluice/handlers/api"
)

// keyCmd groups the commands for API keys.
type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Create a key and print it; it is shown only once."`
	List   keyListCmd   `cmd:"" help:"List keys, without their secrets."`
	Rotate keyRotateCmd `cmd:"" aliases:"roll" help:"Issue a new secret for a key and print it; it is shown only once. The old one keeps working for a grace period."`
	Secret keySecretCmd `cmd:"" help:"Print the secret that signs the webhooks of a key's runs."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke a key immediately."`
}

// keyCreateCmd creates a key. Only a hash of its secret is stored, so it is printed
// once.
type keyCreateCmd struct {
	Body    bodyFlags `body:"CreateKey" names:"flows=flow,scopes=scope,expires_at=-"`
	Expires days      `help:"When the key expires, such as 90d. Default: never." placeholder:"90d"`
	JSON    bool      `help:"Print the key and its settings as JSON."`
}

// RunAPI creates a key. Standard output has only its secret, so that a shell can assign it to a
// variable: KEY=$(sluice key create --name ci).
func (c keyCreateCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	body, err := c.Body.values()
	if err != nil {
		return err
	}
	if c.Expires > 0 {
		body["expires_at"] = time.Now().Add(time.Duration(c.Expires)).UTC().Truncate(time.Second)
	}
	raw, err := api.Call(ctx, "POST", "/v1/keys", body)
	if e, ok := errors.AsType[*flow.Error](err); ok && len(e.Fields) > 0 && strings.HasPrefix(e.Fields[0].Pointer, "/flows") {
		return fmt.Errorf("%s 'sluice flow list' lists them", e.Fields[0].Detail)
	}
	if err != nil {
		return c.Body.explain(err)
	}
	return printKey(s, raw, c.JSON)
}

// keyObject has the fields of a key that commands show.
type keyObject struct {
	ID            string       `json:"id"`
	Key           string       `json:"key"`            // in the response to its creation or rotation only
	WebhookSecret string       `json:"webhook_secret"` // in the response to its creation only
	Name          string       `json:"name"`
	Prefix        string       `json:"prefix"`
	Scopes        []string     `json:"scopes"`
	State         string       `json:"state"`
	ExpiresAt     flowapi.Time `json:"expires_at"`
	LastUsedAt    flowapi.Time `json:"last_used_at"`
	Calls         int64        `json:"calls"`
	CreatedBy     string       `json:"created_by"`
	Previous      *struct {
		Prefix string       `json:"prefix"`
		Until  flowapi.Time `json:"until"`
	} `json:"previous"`
}

// state returns the state of a key and, during the overlap of a rotation, the time until which the
// previous secret works.
func (k *keyObject) state() string {
	if p := k.Previous; p != nil {
		return fmt.Sprintf("%s, %s… until %s", k.State, p.Prefix, shortTime(time.Time(p.Until)))
	}
	return k.State
}

// printKey prints the secret in a response, which no other response contains.
func printKey(s *streams, raw []byte, asJSON bool) error {
	if asJSON {
		return remote.PrintRaw(s.Out, raw)
	}
	var k keyObject
	if err := json.Unmarshal(raw, &k); err != nil {
		return err
	}
	fmt.Fprintln(s.Out, k.Key)
	if !isTerminal(s.Out) {
		return nil
	}
	fmt.Fprintf(s.Err, "\nCopy this key now: it is not stored and cannot be shown again. Its ID is %s.\n", k.ID)
	if k.WebhookSecret != "" {
		fmt.Fprintf(s.Err, "Its webhook secret is %s; 'sluice key secret %s' shows it again.\n", k.WebhookSecret, k.ID)
	}
	if p := k.Previous; p != nil {
		fmt.Fprintf(s.Err, "The previous secret, %s…, works until %s.\n", p.Prefix, shortTime(time.Time(p.Until)))
	}
	return nil
}

// keyPath returns the path of a key in the API.
func keyPath(id string) string { return "/v1/keys/" + url.PathEscape(id) }

// noSuchKey rewords the error for a key that does not exist.
func noSuchKey(err error, id string) error {
	return notFound(err, fmt.Sprintf("there is no key %s; 'sluice key list' lists them", id))
}

// keyRotateCmd issues a new secret for a key. The ID, limits and usage stay the same. Callers switch
// to the new secret while both secrets work. The overlap is bounded, because a leaked key should be
// revoked and not rotated.
type keyRotateCmd struct {
	ID      string        `arg:"" help:"ID of the key; see 'key list'."`
	Overlap time.Duration `default:"24h" help:"How long the old secret keeps working, such as 1h; 0 ends it immediately." placeholder:"24h"`
	JSON    bool          `help:"Print the key and its settings as JSON."`
}

// RunAPI rotates a key and prints the new secret.
func (c keyRotateCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	raw, err := api.Call(ctx, "POST", keyPath(c.ID)+"/rotate", map[string]any{"overlap_s": int64(c.Overlap / time.Second)})
	if err != nil {
		return noSuchKey(err, c.ID)
	}
	return printKey(s, raw, c.JSON)
}

// keyListCmd lists keys with their state and usage.
type keyListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunAPI lists the keys, newest first.
func (c keyListCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	return printPages(ctx, api, s, c.JSON, "/v1/keys?limit=100", "keys", "ID\tKEY\tNAME\tSCOPES\tSTATE\tEXPIRES\tLAST USED\tCALLS\tMADE BY", func(k *keyObject) string {
		return fmt.Sprintf("%s\t%s…\t%s\t%s\t%s\t%s\t%s\t%d\t%s", k.ID, k.Prefix, k.Name, strings.Join(k.Scopes, ","), k.state(), shortTime(time.Time(k.ExpiresAt)), shortTime(time.Time(k.LastUsedAt)), k.Calls, k.CreatedBy)
	})
}

// keySecretCmd prints the secret with which the webhooks of the key's runs are signed. Rotation does
// not change it. Reading it is recorded in the audit log.
type keySecretCmd struct {
	ID string `arg:"" help:"ID of the key; see 'key list'."`
}

// RunAPI prints the webhook secret of a key. A key may read only its own and those of keys that it
// created.
func (c keySecretCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	secret, err := fetch[flowapi.KeySecret](ctx, api, "GET", keyPath(c.ID)+"/webhook-secret", nil)
	if err != nil {
		return noSuchKey(err, c.ID)
	}
	_, err = fmt.Fprintln(s.Out, secret.Secret)
	return err
}

// keyRevokeCmd revokes a key. Runs that it started continue.
type keyRevokeCmd struct {
	ID      string `arg:"" help:"ID of the key; see 'key list'."`
	Cascade bool   `help:"Also revoke the keys that it made, directly or through others."`
}

// RunAPI revokes a key. The server rejects it from the next request on. Keys that the key made are
// revoked too, or named in a warning.
func (c keyRevokeCmd) RunAPI(ctx context.Context, api *client.Client, s *streams) error {
	list, _, err := client.List[keyObject](ctx, api, "/v1/keys?limit=100", "keys")
	if err != nil {
		return err
	}
	if _, err := api.Call(ctx, "DELETE", keyPath(c.ID)+"?cascade="+strconv.FormatBool(c.Cascade), nil); err != nil {
		return noSuchKey(err, c.ID)
	}
	fmt.Fprintf(s.Out, "%s is revoked.\n", c.ID)
	for _, k := range keysMadeBy(c.ID, list) {
		if c.Cascade {
			fmt.Fprintf(s.Out, "%s, which it made, is revoked.\n", k.ID)
		} else {
			fmt.Fprintf(s.Err, "%s (%s), which it made, still works; add --cascade to revoke it too.\n", k.ID, k.Name)
		}
	}
	return nil
}

// keysMadeBy returns the unrevoked keys in a list that a key has made, directly or through others.
func keysMadeBy(id string, list []keyObject) (made []keyObject) {
	all, states := make([]flow.Key, len(list)), map[string]keyObject{}
	for i, k := range list {
		all[i], states[k.ID] = flow.Key{ID: k.ID, CreatedBy: k.CreatedBy}, k
	}
	for _, k := range flow.KeysMadeBy(id, all) {
		if k := states[k.ID]; k.State != string(flow.KeyRevoked) {
			made = append(made, k)
		}
	}
	return made
}
