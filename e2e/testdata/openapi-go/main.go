// A program that calls a flow by what a generator made of the flow's document. It only
// compiles if the outputs have the types that it uses.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"caller/client"
)

// key authenticates requests.
type key string

func (k key) Key(context.Context, client.OperationName) (client.Key, error) {
	return client.Key{Token: string(k)}, nil
}

func run(ctx context.Context) error {
	c, err := client.NewClient(os.Args[1], key(os.Args[2]))
	if err != nil {
		return err
	}
	answer, err := c.StartRun(ctx, &client.StartRun{Ticket: "This is a wonderful day."}, client.StartRunParams{Prefer: client.NewOptString("wait=30")})
	if err != nil {
		return err
	}
	started, ok := answer.(*client.RunHeaders)
	if !ok {
		return fmt.Errorf("the run has not ended: %T", answer)
	}
	result, err := c.ShowResult(ctx, client.ShowResultParams{RunID: started.Response.RunID})
	if err != nil {
		return err
	}
	outputs, ok := result.(*client.OutputsHeaders)
	if !ok {
		return fmt.Errorf("there is no result: %T", result)
	}
	var confidence float64 = outputs.Response.Confidence
	var why client.OptString = outputs.Response.Why // on a branch
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"positive": outputs.Response.Label == client.OutputsLabelPositive, "confidence": confidence > 0, "why": why.Set})
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
