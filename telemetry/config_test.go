package telemetry

import (
	"strings"
	"testing"
	"time"

	"sluice/flow/trace"
)

// env returns a function that reads variables written as NAME=value.
func env(list ...string) func(string) string {
	values := map[string]string{}
	for _, s := range list {
		name, value, _ := strings.Cut(s, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

func TestLoad_reads_the_variables_of_OpenTelemetry(t *testing.T) {
	t.Parallel()
	c, err := Load(env("OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318/base/", "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b, x=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=x=2",
		"OTEL_EXPORTER_OTLP_TIMEOUT=2500", "OTEL_SERVICE_NAME=shop", "OTEL_RESOURCE_ATTRIBUTES=service.name=other,deployment.environment.name=prod", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Endpoint != "http://collector:4318/base/v1/traces" || c.Headers["Api-Key"] != "a b" || c.Headers["X"] != "2" || c.Timeout != 2500*time.Millisecond {
		t.Errorf("the configuration is %+v", c)
	}
	if len(c.Resource) != 2 || c.Resource[0] != (Pair{"service.name", "shop"}) || c.Resource[1] != (Pair{"deployment.environment.name", "prod"}) {
		t.Errorf("the resource is %v", c.Resource)
	}
	c, err = Load(env("OTEL_EXPORTER_OTLP_ENDPOINT=http://ignored", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://traces.example.com/own?x=1", "OTEL_RESOURCE_ATTRIBUTES=service.name=other"))
	if err != nil || c.Endpoint != "https://traces.example.com/own?x=1" || c.Timeout != defaultTimeout || c.Resource[0].Value != "other" {
		t.Errorf("the configuration is %+v, %v", c, err)
	}
}

func TestLoad_is_off_without_an_endpoint(t *testing.T) {
	t.Parallel()
	for _, list := range [][]string{{}, {"OTEL_SERVICE_NAME=x"}, {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_SDK_DISABLED=true"}} {
		if c, err := Load(env(list...)); c != nil || err != nil {
			t.Errorf("with %v: %+v, %v", list, c, err)
		}
	}
}

func TestLoad_names_the_wrong_variable(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://x", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=0", "OTEL_EXPORTER_OTLP_HEADERS=no value", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=%0d%0ab",
		"OTEL_RESOURCE_ATTRIBUTES=a=%zz", "OTEL_TRACES_SAMPLER=jaeger_remote", "OTEL_SDK_DISABLED=yes",
	} {
		name, _, _ := strings.Cut(wrong, "=")
		c, err := Load(env("OTEL_EXPORTER_OTLP_ENDPOINT=http://c", wrong))
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s gives %+v, %v", wrong, c, err)
		}
	}
	if _, err := Load(env("OTEL_EXPORTER_OTLP_ENDPOINT=http://c", "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=NaN")); err == nil || !strings.Contains(err.Error(), "OTEL_TRACES_SAMPLER_ARG") {
		t.Errorf("a ratio that is no number gives %v", err)
	}
}

func TestSampler_decides_by_the_trace(t *testing.T) {
	t.Parallel()
	sampled, unsampled := &trace.Parent{Sampled: true}, &trace.Parent{}
	low, high := trace.ID{15: 1}, trace.ID{8: 0xff}
	for name, want := range map[string][4]bool{ // of its own with a low and a high ID, of a caller that writes it and of one that does not
		"":                         {true, true, true, false},
		"always_on":                {true, true, true, true},
		"always_off":               {false, false, false, false},
		"traceidratio":             {true, false, true, true},
		"parentbased_always_off":   {false, false, true, false},
		"parentbased_traceidratio": {true, false, true, false},
	} {
		s, err := newSampler(name, "0.5")
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]bool{s.writes(low, nil), s.writes(high, nil), s.writes(low, sampled), s.writes(low, unsampled)}; got != want {
			t.Errorf("%q decides %v, wanted %v", name, got, want)
		}
	}
}
