// Command dbos answers what bench asks, with DBOS Transact: a workflow of three
// recorded steps, or of the turns of an agent, behind a bare HTTP handler.
//
//	dbos -database URL [-call URL] [-model URL]
//
// It prints its address and serves until it is killed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"

	"sluice/bench/peers/work"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "dbos:", err)
		os.Exit(1)
	}
}

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

// flow does the work of one call and returns JSON.
func flow(ctx dbos.Context, name string) (string, error) {
	return work.Run(name, func(f func(context.Context) (string, error)) (string, error) { return dbos.RunAsStep(ctx, f) })
}
