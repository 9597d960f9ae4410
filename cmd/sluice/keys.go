package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/flow"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make a key and print it, once."`
	List   keyListCmd   `cmd:"" help:"List keys, without the keys themselves."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke a key at once."`
}

type keyCreateCmd struct {
	Name        string   `required:"" help:"What the key is for."`
	Flow        []string `help:"A flow it may call; repeat for several. Without it, all." placeholder:"ID"`
	Scope       []string `default:"run,read" help:"What it may do: run, read, manage." placeholder:"SCOPE,…"`
	Expires     days     `help:"When it stops working, such as 90d. Without it, never." placeholder:"90d"`
	RPM         int64    `help:"Requests a minute at most." placeholder:"N"`
	Concurrency int64    `help:"Runs at once at most." placeholder:"N"`
	USDPerDay   float64  `name:"usd-per-day" help:"Dollars a day at most." placeholder:"USD"`
	JSON        bool     `help:"Print the key and its settings as JSON."`
}

// Run makes a key. It alone is printed on standard output, so that a shell can
// take it into a variable.
func (c keyCreateCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	k, text, err := c.key()
	if err != nil {
		return err
	}
	store, err := cfg.openStore(ctx, cfg.logger(s.err))
	if err != nil {
		return err
	}
	defer store.Close()
	for _, id := range c.Flow {
		if _, err := store.FindFlow(ctx, flow.DefaultWorkspace, id); err != nil {
			return fmt.Errorf("there is no flow %s; 'sluice flow list' lists them", id)
		}
	}
	if err := store.CreateKey(ctx, k); err != nil {
		return err
	}
	if err := store.Audit(ctx, k.WorkspaceID, "cli", "key.create", k.ID, k.Name); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(s.out, map[string]any{"id": k.ID, "key": text, "name": k.Name, "scopes": k.Scopes, "flows": k.Flows, "expires_at": timeOrNil(k.ExpiresAt)})
	}
	fmt.Fprintln(s.out, text)
	if isTerminal(s.out) {
		fmt.Fprintf(s.err, "\nCopy this key now: it is kept nowhere and cannot be shown again. Its ID is %s.\n", k.ID)
	}
	return nil
}

func (c keyCreateCmd) key() (*flow.Key, string, error) {
	if strings.TrimSpace(c.Name) == "" {
		return nil, "", usageError("--name is empty; say what the key is for")
	}
	if c.RPM < 0 || c.Concurrency < 0 || c.USDPerDay < 0 || c.USDPerDay > 1e6 || math.IsNaN(c.USDPerDay) {
		return nil, "", usageError("a limit is a number above zero")
	}
	text, now := flow.NewKeyText(), time.Now()
	k := &flow.Key{
		ID: flow.NewIDs().New(flow.PrefixKey), WorkspaceID: flow.DefaultWorkspace, Name: c.Name,
		Prefix: text[:flow.KeyShown], Hash: flow.Hash([]byte(text)), Flows: c.Flow,
		RPM: c.RPM, Concurrency: c.Concurrency, USDPerDay: int64(c.USDPerDay * 1e9), CreatedAt: now, CreatedBy: "cli",
	}
	if len(c.Scope) == 0 {
		return nil, "", usageError("--scope is empty; without it a key may run and read")
	}
	for _, scope := range c.Scope {
		switch sc := flow.Scope(scope); sc {
		case flow.ScopeRun, flow.ScopeRead, flow.ScopeManage:
			k.Scopes = append(k.Scopes, sc)
		default:
			return nil, "", usageError(fmt.Sprintf("there is no scope %q; there are run, read and manage", scope))
		}
	}
	if c.Expires > 0 {
		k.ExpiresAt = now.Add(time.Duration(c.Expires))
	}
	return k, text, nil
}

type keyListCmd struct {
	JSON bool `help:"Print as JSON."`
}

// Run lists the keys.
func (c keyListCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	store, err := cfg.openStore(ctx, cfg.logger(s.err))
	if err != nil {
		return err
	}
	defer store.Close()
	keys, err := store.ListKeys(ctx, flow.DefaultWorkspace)
	if err != nil {
		return err
	}
	if c.JSON {
		list := []map[string]any{}
		for i := range keys {
			list = append(list, keyJSON(&keys[i]))
		}
		return printJSON(s.out, list)
	}
	w := tabwriter.NewWriter(s.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKEY\tNAME\tSCOPES\tSTATE\tLAST USED\tCALLS")
	for i := range keys {
		k := &keys[i]
		fmt.Fprintf(w, "%s\t%s…\t%s\t%s\t%s\t%s\t%d\n", k.ID, k.Prefix, k.Name, joinScopes(k), keyState(k), shortTime(k.LastUsedAt), k.Uses)
	}
	return w.Flush()
}

func keyJSON(k *flow.Key) map[string]any {
	return map[string]any{
		"id": k.ID, "prefix": k.Prefix, "name": k.Name, "scopes": k.Scopes, "flows": k.Flows, "state": keyState(k),
		"created_at": timeOrNil(k.CreatedAt), "expires_at": timeOrNil(k.ExpiresAt), "revoked_at": timeOrNil(k.RevokedAt),
		"last_used_at": timeOrNil(k.LastUsedAt), "last_used_ip": k.LastUsedIP, "calls": k.Uses,
		"rpm": k.RPM, "concurrency": k.Concurrency, "usd_per_day": float64(k.USDPerDay) / 1e9,
	}
}

func joinScopes(k *flow.Key) string {
	list := make([]string, len(k.Scopes))
	for i, sc := range k.Scopes {
		list[i] = string(sc)
	}
	return strings.Join(list, ",")
}

func keyState(k *flow.Key) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(time.Now()):
		return "expired"
	}
	return "active"
}

type keyRevokeCmd struct {
	ID string `arg:"" help:"ID of the key, as 'key list' shows it."`
}

// Run revokes a key; the running server refuses it from its next request on.
func (c keyRevokeCmd) Run(ctx context.Context, cfg *Config, s *streams) error {
	store, err := cfg.openStore(ctx, cfg.logger(s.err))
	if err != nil {
		return err
	}
	defer store.Close()
	if err := store.RevokeKey(ctx, flow.DefaultWorkspace, c.ID); err != nil {
		return fmt.Errorf("there is no key %s; 'sluice key list' lists them", c.ID)
	}
	fmt.Fprintf(s.out, "%s is revoked.\n", c.ID)
	return store.Audit(ctx, flow.DefaultWorkspace, "cli", "key.revoke", c.ID, "")
}
