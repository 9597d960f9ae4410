// Command collector is a real OTLP receiver for tests. It prints its address, then each span that it receives as a line of JSON. It
// is a module of its own, so that Sluice does not depend on the collector.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
)

// span is a line of the output.
type span struct {
	Trace, ID, Parent, Name, Kind string
	Start, End                    uint64
	Failed                        bool
	Attributes                    map[string]string
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	addr := listener.Addr().String()
	_ = listener.Close() // the receiver opens its own
	factory := otlpreceiver.NewFactory()
	cfg := factory.CreateDefaultConfig().(*otlpreceiver.Config)
	cfg.Protocols.GRPC = configoptional.None[configgrpc.ServerConfig]()
	cfg.Protocols.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = addr
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	next, err := consumer.NewTraces(func(_ context.Context, data ptrace.Traces) error {
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range data.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					line := span{
						Trace: s.TraceID().String(), ID: s.SpanID().String(), Parent: s.ParentSpanID().String(), Name: s.Name(), Kind: s.Kind().String(),
						Start: uint64(s.StartTimestamp()), End: uint64(s.EndTimestamp()), Failed: s.Status().Code() == ptrace.StatusCodeError, Attributes: map[string]string{},
					}
					for name, value := range s.Attributes().All() {
						line.Attributes[name] = value.AsString()
					}
					if err := out.Encode(line); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	settings := receiver.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: componenttest.NewNopTelemetrySettings(), BuildInfo: component.NewDefaultBuildInfo()}
	r, err := factory.CreateTraces(context.Background(), settings, cfg, next)
	if err != nil {
		log.Fatal(err)
	}
	if err := r.Start(context.Background(), componenttest.NewNopHost()); err != nil {
		log.Fatal(err)
	}
	mu.Lock()
	fmt.Println("http://" + addr)
	mu.Unlock()
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the test ends
	_ = r.Shutdown(context.Background())
}
