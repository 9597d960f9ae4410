package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/db"
	"sluice/flow"
	"sluice/flow/library"
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
	Name          string   `required:"" help:"Name of the key: what it is for."`
	Flow          []string `help:"A flow the key may call, by its slug or ID; repeat for several. Default: all flows." placeholder:"FLOW"`
	Scope         []string `default:"run,read" help:"Permissions of the key: run, read, manage, edit, approve, admin." placeholder:"SCOPE"`
	Expires       days     `help:"When the key expires, such as 90d. Default: never." placeholder:"90d"`
	RPM           int64    `help:"Maximum requests per minute." placeholder:"N"`
	Concurrency   int64    `help:"Maximum concurrent runs." placeholder:"N"`
	RunsPerDay    int64    `name:"runs-per-day" help:"Maximum runs per day." placeholder:"N"`
	USDPerDay     float64  `name:"usd-per-day" help:"Maximum cost per day in dollars." placeholder:"USD"`
	AllowUnpriced bool     `name:"allow-unpriced" help:"With --usd-per-day: allow models whose price is unknown."`
	JSON          bool     `help:"Print the key and its settings as JSON."`
}

// Run creates a key. Standard output has only its secret, so that a shell can
// assign it to a variable: KEY=$(sluice key create --name ci).
func (c keyCreateCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	k, err := c.key()
	if err != nil {
		return err
	}
	store, err := openStore(ctx, cfg, s)
	if err != nil {
		return err
	}
	defer store.Close()
	k.WorkspaceID = cfg.workspace()
	text, err := keyring(store).Create(ctx, flow.Actor{ID: "cli"}, k)
	if err != nil {
		return keyFlagError(err)
	}
	return s.printKey(ctx, store, k, text, c.JSON)
}

// RunRemote creates a key over HTTP.
func (c keyCreateCmd) RunRemote(ctx context.Context, api *client.Client, s *remote.Streams) error {
	k := remote.NewKey{Name: c.Name, Scopes: c.Scope, Flows: c.Flow, RPM: c.RPM, Concurrency: c.Concurrency, RunsPerDay: c.RunsPerDay, USDPerDay: c.USDPerDay, AllowUnpriced: c.AllowUnpriced}
	if c.Expires > 0 {
		at := time.Now().Add(time.Duration(c.Expires)).UTC().Truncate(time.Second)
		k.ExpiresAt = &at
	}
	return k.Create(ctx, api, s, c.JSON)
}

// key returns the key that the flags describe. The keyring validates the rest.
func (c keyCreateCmd) key() (*flow.Key, error) {
	if c.RPM < 0 || c.Concurrency < 0 || c.RunsPerDay < 0 || c.USDPerDay < 0 || c.USDPerDay > 1e6 || math.IsNaN(c.USDPerDay) {
		return nil, usageError("a limit must be a number above zero")
	}
	k := &flow.Key{
		Name: c.Name, Flows: c.Flow,
		RPM: c.RPM, Concurrency: c.Concurrency, RunsPerDay: c.RunsPerDay, USDPerDay: flow.USDOf(c.USDPerDay), AllowUnpriced: c.AllowUnpriced,
	}
	for _, scope := range c.Scope {
		k.Scopes = append(k.Scopes, flow.Scope(scope))
	}
	if c.Expires > 0 {
		k.ExpiresAt = time.Now().Add(time.Duration(c.Expires))
	}
	return k, nil
}

// keyring returns the keyring that the dashboard uses too, so that both apply the same
// rules and write the same audit entries.
func keyring(store *db.Store) *library.Keyring {
	return &library.Keyring{Store: store, IDs: store.IDs(), Now: store.Now}
}

// keyFlagError turns a validation error of the keyring, which names a form field, into an
// error that names the flag.
func keyFlagError(err error) error {
	e, ok := errors.AsType[*flow.Error](err)
	if !ok || len(e.Fields) == 0 {
		return err
	}
	name := strings.TrimPrefix(e.Fields[0].Pointer, "/")
	if name == "flows" {
		return fmt.Errorf("%s 'sluice flow list' lists them", e.Fields[0].Detail)
	}
	flag := map[string]string{"scopes": "scope", "runs_per_day": "runs-per-day", "usd_per_day": "usd-per-day"}[name]
	return usageError("--" + cmp.Or(flag, name) + ": " + e.Fields[0].Detail)
}

// printKey prints a new key, which cannot be shown again, and its webhook secret.
func (s *streams) printKey(ctx context.Context, store *db.Store, k *flow.Key, text string, asJSON bool) error {
	secret, err := store.KeyWebhookSecret(ctx, k.WorkspaceID, k.ID)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(s.out, map[string]any{"id": k.ID, "key": text, "webhook_secret": secret, "name": k.Name, "scopes": k.Scopes, "flows": k.Flows, "expires_at": timeOrNil(k.ExpiresAt)})
	}
	fmt.Fprintln(s.out, text)
	if isTerminal(s.out) {
		fmt.Fprintf(s.err, "\nCopy this key now: it is not stored and cannot be shown again. Its ID is %s.\nIts webhook secret is %s; 'sluice key secret %s' shows it again.\n", k.ID, secret, k.ID)
	}
	return nil
}

// keyRotateCmd issues a new secret for a key. The ID, limits and usage stay the same.
type keyRotateCmd struct {
	ID      string        `arg:"" help:"ID of the key; see 'key list'."`
	Overlap time.Duration `default:"24h" help:"How long the old secret keeps working, such as 1h; 0 ends it immediately." placeholder:"24h"`
	JSON    bool          `help:"Print the key and its settings as JSON."`
}

// RunOn rotates a key. Callers switch to the new secret while both secrets work. The overlap
// is bounded, because a leaked key should be revoked and not rotated.
func (c keyRotateCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	k, err := store.FindKey(ctx, cfg.workspace(), c.ID)
	if err != nil {
		return noSuchKey(c.ID)
	}
	k, text, err := keyring(store).Roll(ctx, flow.Actor{ID: "cli"}, k.WorkspaceID, k.ID, k.Prefix, c.Overlap)
	if err != nil {
		return err
	}
	if err := s.printKey(ctx, store, k, text, c.JSON); err != nil || !isTerminal(s.out) {
		return err
	}
	fmt.Fprintf(s.err, "The previous secret, %s…, works until %s.\n", k.Previous.Prefix, shortTime(k.Previous.Until))
	return nil
}

// RunRemote rotates a key over HTTP.
func (c keyRotateCmd) RunRemote(ctx context.Context, api *client.Client, s *remote.Streams) error {
	return remote.RotateKey(ctx, api, s, c.ID, c.Overlap, c.JSON)
}

// noSuchKey is the error for a key that does not exist.
func noSuchKey(id string) error {
	return fmt.Errorf("there is no key %s; 'sluice key list' lists them", id)
}

// keyListCmd lists keys with their state and usage.
type keyListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// RunOn lists the keys.
func (c keyListCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	keys, err := store.ListKeys(ctx, cfg.workspace())
	if err != nil {
		return err
	}
	return printList(s.out, c.JSON, keys, keyJSON, "ID\tKEY\tNAME\tSCOPES\tSTATE\tEXPIRES\tLAST USED\tCALLS", func(k *flow.Key) string {
		return fmt.Sprintf("%s\t%s…\t%s\t%s\t%s\t%s\t%s\t%d", k.ID, k.Prefix, k.Name, joinScopes(k), keyState(k), shortTime(k.ExpiresAt), shortTime(k.LastUsedAt), k.Uses)
	})
}

// RunRemote lists the keys over HTTP.
func (c keyListCmd) RunRemote(ctx context.Context, api *client.Client, s *remote.Streams) error {
	return remote.ListKeys(ctx, api, s, c.JSON)
}

// keyJSON returns a key as JSON, without its secret.
func keyJSON(k *flow.Key) map[string]any {
	return map[string]any{
		"id": k.ID, "prefix": k.Prefix, "name": k.Name, "scopes": k.Scopes, "flows": k.Flows, "state": k.State(time.Now()),
		"created_at": timeOrNil(k.CreatedAt), "created_by": k.CreatedBy, "expires_at": timeOrNil(k.ExpiresAt), "revoked_at": timeOrNil(k.RevokedAt),
		"last_used_at": timeOrNil(k.LastUsedAt), "last_used_ip": k.LastUsedIP, "calls": k.Uses,
		"rpm": k.RPM, "concurrency": k.Concurrency, "runs_per_day": k.RunsPerDay, "usd_per_day": k.USDPerDay.Dollars(), "allow_unpriced": k.AllowUnpriced,
		"rolled_at": timeOrNil(k.RotatedAt), "previous": previousJSON(k),
	}
}

// joinScopes returns the scopes of a key, separated by commas.
func joinScopes(k *flow.Key) string {
	list := make([]string, len(k.Scopes))
	for i, sc := range k.Scopes {
		list[i] = string(sc)
	}
	return strings.Join(list, ",")
}

// keyState returns the state of a key and, during the overlap of a rotation, the time until
// which the previous secret works.
func keyState(k *flow.Key) string {
	now := time.Now()
	if k.Overlaps(now) {
		return fmt.Sprintf("active, %s… until %s", k.Previous.Prefix, shortTime(k.Previous.Until))
	}
	return string(k.State(now))
}

// previousJSON returns the secret that a rotation replaced, or nil once it has
// expired.
func previousJSON(k *flow.Key) any {
	if !k.Overlaps(time.Now()) {
		return nil
	}
	p := &k.Previous
	return map[string]any{"prefix": p.Prefix, "until": timeOrNil(p.Until), "last_used_at": timeOrNil(p.UsedAt), "last_used_ip": p.UsedIP, "calls": p.Uses}
}

// keySecretCmd prints the secret with which the webhooks of the key's runs are signed.
// Reading it is recorded in the audit log.
type keySecretCmd struct {
	ID string `arg:"" help:"ID of the key; see 'key list'."`
}

// RunOn prints the webhook secret of the key, which rotation does not change.
func (c keySecretCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	secret, err := store.KeyWebhookSecret(ctx, cfg.workspace(), c.ID)
	if flow.IsNotFound(err) {
		return noSuchKey(c.ID)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(s.out, secret)
	return store.Audit(ctx, cfg.workspace(), "cli", "key.secret.read", c.ID, "")
}

// RunRemote prints the webhook secret of a key. The server shows it only to the key itself
// and to the key that created it.
func (c keySecretCmd) RunRemote(ctx context.Context, api *client.Client, s *remote.Streams) error {
	secret, err := fetch[flowapi.KeySecret](ctx, api, "GET", "/v1/keys/"+url.PathEscape(c.ID)+"/webhook-secret", nil)
	if err != nil {
		return notFound(err, noSuchKey(c.ID).Error())
	}
	_, err = fmt.Fprintln(s.Out, secret.Secret)
	return err
}

// keyRevokeCmd revokes a key. Runs that it started continue.
type keyRevokeCmd struct {
	ID      string `arg:"" help:"ID of the key; see 'key list'."`
	Cascade bool   `help:"Also revoke the keys that it made, directly or through others."`
}

// RunRemote revokes a key over HTTP.
func (c keyRevokeCmd) RunRemote(ctx context.Context, api *client.Client, s *remote.Streams) error {
	return remote.RevokeKey(ctx, api, s, c.ID, c.Cascade)
}

// RunOn revokes a key. The running server rejects it from the next request on.
func (c keyRevokeCmd) RunOn(ctx context.Context, cfg *Config, store *db.Store, s *streams) error {
	k, made, err := keyring(store).Revoke(ctx, flow.Actor{ID: "cli"}, cfg.workspace(), c.ID, c.Cascade)
	if flow.IsNotFound(err) {
		return noSuchKey(c.ID)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%s is revoked.\n", k.ID)
	for i := range made {
		fmt.Fprintf(s.out, "%s, which it made, is revoked.\n", made[i].ID)
	}
	if c.Cascade {
		return nil
	}
	keys, err := store.ListKeys(ctx, k.WorkspaceID)
	for _, m := range flow.KeysMadeBy(k.ID, keys) {
		if m.RevokedAt.IsZero() {
			fmt.Fprintf(s.err, "%s (%s), which it made, still works; add --cascade to revoke it too.\n", m.ID, m.Name)
		}
	}
	return err
}
