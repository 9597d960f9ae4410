package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/flow"
)

// NewKey has the settings of a key to create. The server replaces zero values with those of
// the key in the request.
type NewKey struct {
	Name          string     `json:"name"`
	Scopes        []string   `json:"scopes,omitempty"`
	Flows         []string   `json:"flows,omitempty"`
	ExpiresAt     *time.Time `json:"expires_at,omitempty"`
	RPM           int64      `json:"rpm,omitempty"`
	Concurrency   int64      `json:"concurrency,omitempty"`
	RunsPerDay    int64      `json:"runs_per_day,omitempty"`
	USDPerDay     float64    `json:"usd_per_day,omitempty"`
	AllowUnpriced bool       `json:"allow_unpriced,omitempty"`
}

// keyObject has the fields of a key that commands show.
type keyObject struct {
	ID         string     `json:"id"`
	Key        string     `json:"key"`
	Name       string     `json:"name"`
	Prefix     string     `json:"prefix"`
	Scopes     []string   `json:"scopes"`
	State      string     `json:"state"`
	ExpiresAt  *time.Time `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	Calls      int64      `json:"calls"`
	CreatedBy  string     `json:"created_by"`
	Previous   *struct {
		Prefix string    `json:"prefix"`
		Until  time.Time `json:"until"`
	} `json:"previous"`
}

// Create creates the key. Standard output has only its secret, so that a shell can assign it
// to a variable.
func (k NewKey) Create(ctx context.Context, api *client.Client, s *Streams, asJSON bool) error {
	raw, err := api.Call(ctx, "POST", "/v1/keys", k)
	if err != nil {
		return err
	}
	return printSecret(s, raw, asJSON)
}

// printSecret prints the secret in a response. No other response contains it.
func printSecret(s *Streams, raw []byte, asJSON bool) error {
	if asJSON {
		return printRaw(s.Out, raw)
	}
	var k keyObject
	if err := json.Unmarshal(raw, &k); err != nil {
		return err
	}
	fmt.Fprintln(s.Out, k.Key)
	if !IsTerminal(s.Out) {
		return nil
	}
	fmt.Fprintf(s.Err, "\nCopy this key now: it is not stored and cannot be shown again. Its ID is %s.\n", k.ID)
	if k.Previous != nil {
		fmt.Fprintf(s.Err, "The previous secret, %s…, works until %s.\n", k.Previous.Prefix, keyTime(&k.Previous.Until))
	}
	return nil
}

// RotateKey issues a new secret for a key and prints it.
func RotateKey(ctx context.Context, api *client.Client, s *Streams, id string, overlap time.Duration, asJSON bool) error {
	raw, err := api.Call(ctx, "POST", keyPath(id)+"/rotate", map[string]any{"overlap_s": int64(overlap / time.Second)})
	if err != nil {
		return noSuchKey(err, id)
	}
	return printSecret(s, raw, asJSON)
}

// RevokeKey revokes a key and, with cascade, the keys that it made.
func RevokeKey(ctx context.Context, api *client.Client, s *Streams, id string, cascade bool) error {
	if _, err := api.Call(ctx, "DELETE", keyPath(id)+"?cascade="+fmt.Sprint(cascade), nil); err != nil {
		return noSuchKey(err, id)
	}
	_, err := fmt.Fprintf(s.Out, "%s is revoked.\n", id)
	return err
}

// ListKeys prints all keys, newest first.
func ListKeys(ctx context.Context, api *client.Client, s *Streams, asJSON bool) error {
	all := []json.RawMessage{}
	for cursor := ""; ; {
		raw, err := api.Call(ctx, "GET", "/v1/keys?limit=100"+cursor, nil)
		if err != nil {
			return err
		}
		var page struct {
			Keys       []json.RawMessage `json:"keys"`
			NextCursor *string           `json:"next_cursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return err
		}
		if all = append(all, page.Keys...); page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + url.QueryEscape(*page.NextCursor)
	}
	if asJSON {
		raw, err := json.Marshal(all)
		if err != nil {
			return err
		}
		return printRaw(s.Out, raw)
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "ID\tKEY\tNAME\tSCOPES\tSTATE\tEXPIRES\tLAST USED\tCALLS\tMADE BY")
	for _, raw := range all {
		var k keyObject
		if err := json.Unmarshal(raw, &k); err != nil {
			return err
		}
		fmt.Fprintf(columns, "%s\t%s…\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", k.ID, k.Prefix, k.Name, strings.Join(k.Scopes, ","), k.State, keyTime(k.ExpiresAt), keyTime(k.LastUsedAt), k.Calls, k.CreatedBy)
	}
	return columns.Flush()
}

// ListUsers prints the people of the workspace.
func ListUsers(ctx context.Context, api *client.Client, s *Streams, asJSON bool) error {
	raw, err := api.Call(ctx, "GET", "/v1/users", nil)
	if err != nil {
		return err
	}
	var list struct {
		Users []struct{ ID, Name, Email, Role string }
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	if asJSON {
		return printRaw(s.Out, raw)
	}
	columns := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(columns, "ID\tEMAIL\tNAME\tROLE")
	for _, u := range list.Users {
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\n", u.ID, u.Email, cmp.Or(u.Name, "-"), u.Role)
	}
	return columns.Flush()
}

// keyPath returns the path of a key in the API.
func keyPath(id string) string { return "/v1/keys/" + url.PathEscape(id) }

// keyTime formats a time in the local time zone, and nil as "never".
func keyTime(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.Local().Format("2006-01-02 15:04")
}

// noSuchKey rewords the error for a key that does not exist.
func noSuchKey(err error, id string) error {
	if flow.IsNotFound(err) {
		return fmt.Errorf("there is no key %s; 'sluice key list' lists them", id)
	}
	return err
}
