package telemetry

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"
)

// Config says where spans go. OpenTelemetry's specification names the variables of the environment.
type Config struct {
	Endpoint string            // URL that spans are posted to
	Headers  map[string]string // of each request; secret
	Timeout  time.Duration     // of each request
	Resource []Pair            // attributes of this process, service.name first
	Sampler  Sampler
	Content  bool // spans have the inputs and outputs of runs and steps
}

// Pair is an attribute whose value is a text.
type Pair struct{ Key, Value string }

const (
	defaultTimeout = 10 * time.Second
	maxTimeout     = 5 * time.Minute
	tracesPath     = "v1/traces" // below OTEL_EXPORTER_OTLP_ENDPOINT
	protocol       = "http/protobuf"
)

// Load reads the configuration from the environment. It returns nil if no traces are to be written. Errors are one sentence
// that names the variable.
func Load(env func(string) string) (*Config, error) {
	base, traces := env("OTEL_EXPORTER_OTLP_ENDPOINT"), env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	switch off := env("OTEL_SDK_DISABLED"); strings.ToLower(off) {
	case "", "false":
	case "true":
		return nil, nil
	default:
		return nil, fmt.Errorf("OTEL_SDK_DISABLED is %q; write true or false", off)
	}
	if base == "" && traces == "" {
		return nil, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if p := env(name); p != "" && p != protocol {
			return nil, fmt.Errorf("%s is %q; only %s is supported, usually on port 4318", name, p, protocol)
		}
	}
	c, err := &Config{Headers: map[string]string{}}, error(nil)
	if c.Endpoint, err = endpoint(base, traces); err != nil {
		return nil, err
	}
	if c.Timeout, err = timeout(env); err != nil {
		return nil, err
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} { // the latter wins
		list, err := pairs(name, env(name))
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if !httpguts.ValidHeaderFieldName(p.Key) || !httpguts.ValidHeaderFieldValue(p.Value) {
				return nil, fmt.Errorf("%s has something that is no header; write name=value,name=value with values percent-encoded", name)
			}
			c.Headers[http.CanonicalHeaderKey(p.Key)] = p.Value
		}
	}
	if c.Resource, err = resource(env); err != nil {
		return nil, err
	}
	c.Sampler, err = newSampler(env("OTEL_TRACES_SAMPLER"), env("OTEL_TRACES_SAMPLER_ARG"))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// endpoint returns the URL that spans are posted to. The general endpoint is a base URL, and that of traces is complete.
func endpoint(base, traces string) (string, error) {
	name, text := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces
	if traces == "" {
		name, text = "OTEL_EXPORTER_OTLP_ENDPOINT", base
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
		return "", fmt.Errorf("%s is not an http or https URL; write one such as http://localhost:4318", name)
	}
	if traces == "" {
		u = u.JoinPath(tracesPath)
	} else if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

// timeout returns the time limit of a request. The variables are in milliseconds.
func timeout(env func(string) string) (time.Duration, error) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"} {
		text := env(name)
		if text == "" {
			continue
		}
		ms, err := strconv.Atoi(text)
		if d := time.Duration(ms) * time.Millisecond; err == nil && ms > 0 && d <= maxTimeout {
			return d, nil
		}
		return 0, fmt.Errorf("%s is %q; write milliseconds, such as 10000, at most 300000", name, text)
	}
	return defaultTimeout, nil
}

// maxResource bounds the attributes of the process.
const maxResource = 64

// resource returns the attributes of the process.
func resource(env func(string) string) ([]Pair, error) {
	list, err := pairs("OTEL_RESOURCE_ATTRIBUTES", env("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, err
	}
	if len(list) > maxResource {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES has more than %d attributes; write fewer", maxResource)
	}
	name, rest := "sluice", []Pair(nil)
	for _, p := range list {
		if p.Key == serviceName {
			name = p.Value
		} else {
			rest = append(rest, p)
		}
	}
	return append([]Pair{{serviceName, cmp.Or(env("OTEL_SERVICE_NAME"), name)}}, rest...), nil
}

// pairs reads name=value,name=value, whose values are percent-encoded.
func pairs(name, text string) (list []Pair, err error) {
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || key == "" || err != nil || !utf8.ValidString(decoded) || !utf8.ValidString(key) {
			return nil, fmt.Errorf("%s cannot be read; write name=value,name=value with values percent-encoded", name)
		}
		list = append(list, Pair{key, decoded})
	}
	return list, nil
}
