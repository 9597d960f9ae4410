// Command dbos answers what bench asks, with DBOS Transact: a workflow of three
// recorded steps behind a bare HTTP handler.
//
//	dbos -database URL [-call URL]
//
// It prints its address and serves until it is killed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
}

// service is the address that the middle step calls; "" for none.
var service = flag.String("call", "", "URL that the second step calls instead of filling in a template")

// client keeps as many connections open as Sluice does.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}

func run() error {
	database := flag.String("database", "", "postgres:// or sqlite: URL")
	flag.Parse()
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "bench", DatabaseURL: *database, Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	dbos.RegisterWorkflow(ctx, flow)
	if err := dbos.Launch(ctx); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", l.Addr())
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answer(ctx, w, r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
}

func answer(ctx dbos.Context, w http.ResponseWriter, r *http.Request) error {
	var in struct{ Name string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return err
	}
	handle, err := dbos.RunWorkflow(ctx, flow, in.Name)
	if err != nil {
		return err
	}
	text, err := handle.GetResult()
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = fmt.Fprintf(w, `{"outputs":{"text":%s}}`, text)
	return err
}

// flow is input, template or call, output. It returns JSON.
func flow(ctx dbos.Context, name string) (string, error) {
	name, err := dbos.RunAsStep(ctx, func(context.Context) (string, error) { return name, nil })
	if err != nil {
		return "", err
	}
	middle := func(context.Context) (string, error) { return `"Hello ` + name + `!"`, nil }
	if *service != "" {
		middle = func(ctx context.Context) (string, error) { return call(ctx, name) }
	}
	text, err := dbos.RunAsStep(ctx, middle)
	if err != nil {
		return "", err
	}
	return dbos.RunAsStep(ctx, func(context.Context) (string, error) { return text, nil })
}

func call(ctx context.Context, name string) (string, error) {
	body, err := json.Marshal(map[string]string{"name": name})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", *service, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}
