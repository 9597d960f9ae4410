package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/cmd/sluice/client"
	"sluice/cmd/sluice/remote"
	"sluice/flow/wording"
)

// printJSON prints a value as indented JSON. It does not escape characters such as <, because
// the output is not embedded in HTML.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// table prints rows in aligned columns. The cells of the header and of each row are
// separated by tabs; an empty header is left out. Tables are for people and may change;
// scripts use --json.
func table[T any](w io.Writer, header string, list []T, row func(*T) string) error {
	columns := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if header != "" {
		fmt.Fprintln(columns, header)
	}
	for i := range list {
		fmt.Fprintln(columns, oneLine(row(&list[i])))
	}
	return columns.Flush()
}

// oneLine replaces line breaks by spaces, and other control characters except tabs by U+FFFD: names and messages have texts of others, which
// must not begin lines of their own in the log of a CI server, and must not control a terminal.
func oneLine(text string) string { return wording.Visible(lineBreaks.Replace(text)) }

var lineBreaks = strings.NewReplacer("\n", " ", "\r", " ", "\u2028", " ", "\u2029", " ")

// printList prints a list as a table or, for --json, as an array. An empty list is [] as JSON, and a
// header without rows as a table, so that scripts need no special case.
func printList[T any](w io.Writer, asJSON bool, list []T, header string, row func(*T) string) error {
	if !asJSON {
		return table(w, header, list, row)
	}
	return printJSON(w, append([]T{}, list...))
}

// printPages prints all pages of a list of the API: as a table, or for --json its elements as
// received, in one array. See client.List.
func printPages[T any](ctx context.Context, api *client.Client, s *streams, asJSON bool, path, member, header string, row func(*T) string) error {
	list, raw, err := client.List[T](ctx, api, path, member)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(s.Out, raw)
	}
	return table(s.Out, header, list, row)
}

// fetch sends a request to the API and decodes the JSON of the response. If the server refuses
// the request, the error is a *client.Rejection and wraps a flow.Error with its code.
func fetch[T any](ctx context.Context, api *client.Client, method, path string, body any) (v T, err error) {
	raw, err := api.Call(ctx, method, path, body)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("the server at %s is not Sluice or has another version; check the address", api.Base)
	}
	return v, nil
}

// isTerminal reports whether w is a terminal, where hints and progress are printed.
func isTerminal(w io.Writer) bool { return remote.IsTerminal(w) }

// uncapitalized turns a sentence for pages into an error message.
func uncapitalized(sentence string) string {
	return strings.ToLower(sentence[:1]) + strings.TrimSuffix(sentence[1:], ".")
}

// shortTime returns a time in the local time zone, for tables.
func shortTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}
