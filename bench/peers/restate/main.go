// Command restate is a service of Restate that does the work of bench: three recorded steps, or the turns of an agent.
//
//	restate -listen HOST:PORT [-call URL] [-model URL]
//
// The server of Restate calls it, and callers call that server.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/server"

	"sluice/bench/peers/work"
)

// Bench is the service.
type Bench struct{}

// in and out are what callers send and get.
type (
	in struct {
		Name string `json:"name"`
	}
	out struct {
		Outputs outputs `json:"outputs"`
	}
	outputs struct {
		Text json.RawMessage `json:"text"`
	}
)

// Run does the work of one call.
func (Bench) Run(ctx restate.Context, given in) (out, error) {
	text, err := work.Run(given.Name, func(f func(context.Context) (string, error)) (string, error) {
		return restate.Run(ctx, func(ctx restate.RunContext) (string, error) { return f(ctx) })
	})
	return out{outputs{json.RawMessage(text)}}, err
}

func main() {
	listen := flag.String("listen", "", "address to listen on")
	flag.Parse()
	s := server.NewRestate().WithLogger(slog.NewTextHandler(io.Discard, nil), false).Bind(restate.Reflect(Bench{}))
	if err := s.Start(context.Background(), *listen); err != nil {
		fmt.Fprintln(os.Stderr, "restate:", err)
		os.Exit(1)
	}
}
