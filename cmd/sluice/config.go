package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"sluice/cmd/sluice/memory"
	"sluice/cmd/sluice/upstream"
	"sluice/db"
	"sluice/handlers/web"
	"sluice/jobs/peers"
	"sluice/outbound"
	"sluice/providers/prices"
)

// Config holds the effective settings: flags take precedence over the
// environment, and both over the defaults. docs/configuration.md and the help are
// generated from the tags; package command explains them. A new setting needs a
// field here, a check in check unless its type rejects invalid texts, and a use in
// the wiring (app.go) or the store's settings (store.go).
//
// A setting is a decision that an operator makes before the server starts. Data that
// people change later, such as credentials and limits, is in the database.
type Config struct {
	Server         string        `env:"SLUICE_URL" help:"Server that commands call over HTTP, instead of using the local database: its URL, or the name with which it was saved." placeholder:"URL"`
	Key            string        `env:"SLUICE_KEY" help:"API key for that server." placeholder:"KEY"`
	Workspace      string        `env:"SLUICE_WORKSPACE" help:"Workspace that commands work on: its ID, or its name if no other has it. Over HTTP, it is that of the key." placeholder:"WORKSPACE"`
	Addr           string        `env:"SLUICE_ADDR" default:"127.0.0.1:8080" help:"Address to listen on." placeholder:"HOST:PORT"`
	DataDir        string        `env:"SLUICE_DATA_DIR" default:"./data" help:"Database, files and master key." placeholder:"DIR" type:"path"`
	DatabaseURL    string        `env:"DATABASE_URL" help:"postgres://… for PostgreSQL and many instances; empty for SQLite in the data directory." placeholder:"URL"`
	ReadURL        string        `env:"SLUICE_READ_DATABASE_URL" name:"read-database-url" help:"postgres://… of a streaming replica of DATABASE_URL, for lists and reports." placeholder:"URL"`
	PublicURL      string        `env:"SLUICE_PUBLIC_URL" help:"URL at which clients reach this server; default is the address." placeholder:"URL"`
	MasterKey      string        `env:"SLUICE_MASTER_KEY" help:"Key that encrypts stored secrets; a file is safer." placeholder:"KEY"`
	MasterKeyFile  string        `env:"SLUICE_MASTER_KEY_FILE" help:"File with the master key; default is master.key in the data directory." placeholder:"FILE" type:"path"`
	AllowPrivate   string        `env:"SLUICE_ALLOW_PRIVATE" help:"Private networks that flows may call, as CIDRs." placeholder:"CIDR,…"`
	Proxies        string        `env:"SLUICE_TRUSTED_PROXIES" name:"trusted-proxies" help:"CIDRs of reverse proxies whose client-IP header is trusted." placeholder:"CIDR,…"`
	ClientHeader   string        `env:"SLUICE_CLIENT_IP_HEADER" name:"client-ip-header" default:"X-Forwarded-For" help:"Header that carries the client's IP address." placeholder:"NAME"`
	MetricsAddr    string        `env:"SLUICE_METRICS_ADDR" help:"Address to serve /metrics on; off when empty." placeholder:"HOST:PORT"`
	PeerAddr       string        `env:"SLUICE_PEER_ADDR" name:"peer-addr" help:"Private address where other instances on the same PostgreSQL fetch the text of running steps; off when empty." placeholder:"HOST:PORT"`
	Workers        workers       `env:"SLUICE_WORKERS" help:"Maximum concurrent runs. Default: one for each 4 MiB of memory, at most 256." placeholder:"N"`
	Memory         size          `env:"SLUICE_MEMORY" help:"Memory that the server may use. Default: the limit of the container, or else the memory of the machine." placeholder:"1GiB"`
	Retention      days          `env:"SLUICE_RETENTION" default:"30d" help:"How long the data of ended runs is kept." placeholder:"30d"`
	KnowledgeCache size          `env:"SLUICE_KNOWLEDGE_CACHE" default:"128MiB" help:"Memory for the indexes of knowledge bases." placeholder:"128MiB"`
	Files          string        `env:"SLUICE_FILES" name:"files-url" help:"Object storage for the content of files, such as s3://BUCKET/PREFIX?endpoint=https://storage.example.com&region=eu-central-1&path_style=true. Default: the data directory, or the database on PostgreSQL." placeholder:"URL"`
	FilesKeyID     string        `env:"SLUICE_FILES_KEY_ID" name:"files-key-id" help:"Access key of that storage. Default: AWS's own variables, files and roles." placeholder:"ID"`
	FilesSecret    string        `env:"SLUICE_FILES_SECRET" name:"files-secret" help:"Secret of that access key." placeholder:"SECRET"`
	FilesRedirect  string        `env:"SLUICE_FILES_REDIRECT" name:"files-redirect" default:"off" enum:"on,off" help:"Whether downloads by programs are redirected to the object storage, with links valid for 60 seconds."`
	MaxFile        size          `env:"SLUICE_MAX_FILE" default:"512MiB" help:"Maximum size of a file." placeholder:"512MiB"`
	MaxFetch       size          `env:"SLUICE_MAX_FETCH" default:"64MiB" help:"Maximum size of a file that is given by URL." placeholder:"64MiB"`
	Prices         string        `env:"SLUICE_PRICES" help:"Price list in place of the one that ships with the program; a JSON file." placeholder:"FILE" type:"path"`
	DrainDelay     time.Duration `env:"SLUICE_DRAIN_DELAY" default:"2s" help:"How long requests are still served after /readyz reports the shutdown, so that load balancers notice. 0 for none." placeholder:"2s"`
	Log            logStyle      `env:"SLUICE_LOG" default:"text" enum:"text,json" help:"Log as text or json."`
	LocalModels    string        `env:"SLUICE_LOCAL_MODELS" default:"on" enum:"on,off" help:"Whether to look for model servers on this machine: Ollama, LM Studio, llama.cpp, vLLM."`
	Code           string        `env:"SLUICE_CODE" default:"on" enum:"on,off" help:"Whether Code nodes may run JavaScript."`
	ReplicateURL   string        `env:"SLUICE_REPLICATE_URL" name:"replicate-url" help:"URL of the model-hosting platform, if it is not the default one." placeholder:"URL"`
	Signup         string        `env:"SLUICE_SIGNUP" default:"closed" enum:"closed,open" help:"Whether anyone may create an account with their own workspace."`
	SMTPURL        string        `env:"SLUICE_SMTP_URL" name:"smtp-url" help:"Mail server for invitations and password resets, such as smtp://user:password@smtp.example.com:587?from=sluice@example.com; no mail when empty." placeholder:"URL"`
	AuditRetention days          `env:"SLUICE_AUDIT_RETENTION" name:"audit-retention" help:"How long audit log entries are kept; forever when empty." placeholder:"400d"`
	SessionIdle    days          `env:"SLUICE_SESSION_IDLE" default:"7d" help:"How long a dashboard session lasts without activity." placeholder:"7d"`
	SessionMax     days          `env:"SLUICE_SESSION_MAX" default:"30d" help:"Maximum lifetime of a session." placeholder:"30d"`

	QuotaBytes quotaBytes `env:"SLUICE_QUOTA_BYTES" help:"Bytes that a workspace may store, such as 1GiB or unlimited. Default: 1GiB with SLUICE_SIGNUP=open, otherwise unlimited." placeholder:"1GiB"`
	QuotaFlows quotaCount `env:"SLUICE_QUOTA_FLOWS" help:"Flows that a workspace may have. Default: 100 with SLUICE_SIGNUP=open, otherwise unlimited." placeholder:"N"`
	QuotaRuns  quotaCount `env:"SLUICE_QUOTA_RUNS" help:"Runs that a workspace may keep. Default: 10,000 with SLUICE_SIGNUP=open, otherwise unlimited." placeholder:"N"`
	Unbound    string     `env:"SLUICE_UNBOUND_CREDENTIALS" name:"unbound-credentials" default:"allow" enum:"allow,refuse" help:"Whether plain credentials without hosts may be sent; refuse stops them when a node runs."`

	MasterKeyCommand string `env:"SLUICE_MASTER_KEY_COMMAND" name:"master-key-command" help:"Command that prints the master key, such as one of Vault, a cloud's key service or sops." placeholder:"COMMAND"`
	Proxy            string `env:"SLUICE_PROXY" help:"HTTP proxy for all requests that leave the server, such as http://user:password@proxy.example.com:3128; direct when empty." placeholder:"URL"`
	NoProxy          string `env:"SLUICE_NO_PROXY" name:"no-proxy" help:"Hosts that are reached without that proxy: names, .example.com for all names below, addresses and CIDRs." placeholder:"HOST,…"`
	ProxyStrict      string `env:"SLUICE_PROXY_STRICT" name:"proxy-strict" default:"auto" enum:"auto,on,off" help:"Whether names that do not resolve on this machine are refused instead of passed to the proxy; auto is on with open sign-up."`
	OIDC             string `env:"SLUICE_OIDC" name:"oidc" help:"Identity providers to sign in with, over OpenID Connect; a JSON file." placeholder:"FILE" type:"path"`
	Passwords        string `env:"SLUICE_PASSWORDS" default:"on" enum:"on,off" help:"Whether people may sign in with a password; off lets only the first owner."`
	TwoStep          string `env:"SLUICE_TWO_STEP" name:"two-step" default:"optional" enum:"optional,viewer,editor,owner" help:"Least role that needs a code besides the password."`
	MetricsLabels    string `env:"SLUICE_METRICS_LABELS" name:"metrics-labels" default:"none" enum:"none,flow" help:"Whether metrics of runs have the slug of the flow as a label: none or flow. Of the first 200 flows; the others are other."`
	AccessLog        string `env:"SLUICE_ACCESS_LOG" name:"access-log" default:"off" enum:"on,off" help:"Whether each request is logged, without its path and query."`
	OTelContent      string `env:"SLUICE_OTEL_CONTENT" name:"otel-content" default:"off" enum:"on,off" help:"Whether traces have the inputs and outputs of runs and steps."`
	AuditLog         string `env:"SLUICE_AUDIT_LOG" name:"audit-log" default:"off" enum:"off,stderr" help:"Whether entries of the audit logs are also written to standard error, one JSON object per line."`
}

// maxDrainDelay is longer than any load balancer needs to notice a shutdown. A longer delay
// is probably a wrong unit, and would slow down every deployment.
const maxDrainDelay = 5 * time.Minute

// logStyle is "text" or "json".
type logStyle string

const logJSON logStyle = "json"

// size is a number of bytes, written as 100MB (1000 each) or 1GiB (1024 each).
type size int64

var (
	sizeForm = regexp.MustCompile(`(?i)^([0-9]{1,12}) ?(?:([kmgt])(i)?)?b?$`)
	// sizePower is the power of 1000 or 1024 that a unit prefix stands for.
	sizePower = map[string]int{"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
)

// maxSize is far beyond any disk, and sums of a few sizes still fit an int64.
const maxSize = 1 << 60

// UnmarshalText reads "100MB" (1000 each) or "1GiB" (1024 each).
func (s *size) UnmarshalText(text []byte) error {
	m := sizeForm.FindStringSubmatch(string(text))
	if m == nil {
		return fmt.Errorf("%q is not a size; write 100MB or 1GiB", text)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	factor := int64(1000)
	if m[3] != "" {
		factor = 1024
	}
	for range sizePower[strings.ToLower(m[2])] {
		if n > maxSize/factor {
			return fmt.Errorf("%q is more than any disk holds", text)
		}
		n *= factor
	}
	if n == 0 {
		return fmt.Errorf("%q leaves no room for files; write 100MB or 1GiB", text)
	}
	*s = size(n)
	return err
}

// workers is a number of runs; 0 if it is not set.
type workers int

// UnmarshalText reads a whole number from 1 on.
func (w *workers) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return fmt.Errorf("wanted a whole number, at least 1, got %q", text)
	}
	*w = workers(n)
	return nil
}

// days is a duration that may also be written in days, such as 90d.
type days time.Duration

// daysForm matches a number of days. Go's own durations end at hours.
var daysForm = regexp.MustCompile(`^([0-9]{1,5})d$`)

// UnmarshalText reads "90d" or a Go duration such as "36h".
func (d *days) UnmarshalText(text []byte) error {
	if m := daysForm.FindSubmatch(text); m != nil {
		n, err := strconv.Atoi(string(m[1]))
		if *d = days(time.Duration(n) * 24 * time.Hour); n == 0 {
			err = fmt.Errorf("%q is not a time span; write 30d or 36h", text)
		}
		return err
	}
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a time span; write 30d or 36h", text)
	}
	*d = days(v)
	return nil
}

// logger returns a logger that writes to w in the configured format.
func (c *Config) logger(w io.Writer) *slog.Logger {
	if c.Log == logJSON {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// plan returns how the memory of the process is used.
func (c *Config) plan() memory.Plan { return memory.NewPlan(int64(c.Memory), int(c.Workers)) }

// check returns a usage error for settings that cannot work. It runs before the
// database is opened, so that a mistake creates neither a database nor a key.
func (c *Config) check() error {
	if c.Memory > 0 && c.Memory < memory.Min {
		return usageError("SLUICE_MEMORY is too small; write at least 128MiB")
	}
	if err := checkSignup(c.Signup, runtime.GOOS); err != nil {
		return err
	}
	if err := c.checkSessions(); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(c.Addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return usageError(fmt.Sprintf("SLUICE_ADDR is %q; write it as HOST:PORT, such as 127.0.0.1:8080", c.Addr))
	}
	if err := db.CheckURL(c.DatabaseURL); err != nil {
		return usageError(err.Error())
	}
	if c.ReadURL != "" && (c.DatabaseURL == "" || db.CheckURL(c.ReadURL) != nil) {
		return usageError("SLUICE_READ_DATABASE_URL must be a postgres:// URL, and DATABASE_URL must be set too")
	}
	if u, err := url.Parse(c.PublicURL); c.PublicURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
		return usageError(fmt.Sprintf("SLUICE_PUBLIC_URL is %q; write the URL at which clients reach this server, such as https://sluice.example.com, without a path", c.PublicURL))
	}
	if c.DrainDelay < 0 || c.DrainDelay > maxDrainDelay {
		return usageError("SLUICE_DRAIN_DELAY is out of range; write a duration from 0 to 5m")
	}
	if err := peers.CheckAddr(c.PeerAddr); c.PeerAddr != "" && err != nil {
		return usageError("SLUICE_PEER_ADDR: " + err.Error())
	}
	if _, err := c.mailSettings(); err != nil {
		return usageError("SLUICE_SMTP_URL: " + err.Error())
	}
	if _, err := c.objects(); err != nil {
		return usageError(err.Error())
	}
	if n := countSet(c.MasterKey, c.MasterKeyFile, c.MasterKeyCommand); n > 1 && c.MasterKeyCommand != "" {
		return usageError("SLUICE_MASTER_KEY_COMMAND, SLUICE_MASTER_KEY and SLUICE_MASTER_KEY_FILE exclude each other; keep one")
	}
	if _, err := c.traces(); err != nil {
		return usageError(err.Error())
	}
	if err := c.checkSignIn(); err != nil {
		return err
	}
	if c.Prices != "" {
		if _, err := prices.Load(c.Prices); err != nil {
			return usageError("SLUICE_PRICES: " + err.Error())
		}
	}
	if _, err := outbound.ParseProxy(c.Proxy, c.NoProxy); err != nil {
		return usageError(err.Error())
	}
	if _, err := outbound.ParseAllowPrivate(c.AllowPrivate); err != nil {
		return usageError(err.Error())
	}
	if _, err := web.ParseProxies(c.Proxies, c.ClientHeader); err != nil {
		return usageError("SLUICE_TRUSTED_PROXIES: " + err.Error())
	}
	if err := upstream.CheckEnvironment(); err != nil {
		return usageError(err.Error())
	}
	return nil
}

// checkSignup returns a usage error if strangers may sign up on a system that cannot confine what runs
// for them.
func checkSignup(signup, system string) error {
	if signup == "open" && system != "linux" {
		return usageError("SLUICE_SIGNUP=open is supported only on Linux, where documents and code of strangers are processed without access to files and network; leave it closed here")
	}
	return nil
}

// Limits on the length of sessions. The use of a session is recorded once a
// minute, so shorter sessions would end while in use. Browsers keep no cookie
// longer than 400 days.
const (
	minSession = 5 * time.Minute
	maxSession = 400 * 24 * time.Hour
)

// checkSessions checks the lifetimes of dashboard sessions.
func (c *Config) checkSessions() error {
	idle, most := time.Duration(c.SessionIdle), time.Duration(c.SessionMax)
	switch {
	case idle > 0 && idle < minSession:
		return usageError("SLUICE_SESSION_IDLE is too short; write at least 5m")
	case most > maxSession:
		return usageError("SLUICE_SESSION_MAX is too long; write at most 400d")
	case most > 0 && most < idle:
		return usageError("SLUICE_SESSION_MAX is shorter than SLUICE_SESSION_IDLE; make it at least as long")
	}
	return nil
}

// refuseUnbound reports whether credentials without hosts must not be sent. They exist
// only in databases created before hosts were required.
func (c *Config) refuseUnbound() bool { return c.Unbound == "refuse" }

// outbound returns the HTTP client for the requests of flows, including those to providers.
func (c *Config) outbound() (*outbound.Client, error) {
	private, err := outbound.ParseAllowPrivate(c.AllowPrivate)
	if err != nil {
		return nil, err
	}
	proxy, err := c.proxy()
	if err != nil {
		return nil, err
	}
	return outbound.New(outbound.Config{AllowPrivate: private, Proxy: proxy, UserAgent: "Sluice/" + version()})
}

// proxy returns the proxy for outgoing requests, or nil.
func (c *Config) proxy() (*outbound.Proxy, error) {
	p, err := outbound.ParseProxy(c.Proxy, c.NoProxy)
	if p != nil {
		p.Strict = c.ProxyStrict == "on" || c.ProxyStrict != "off" && c.Signup == "open"
	}
	return p, err
}

// newUpstreams creates the clients of model providers.
func newUpstreams(ctx context.Context, cfg *Config) (*upstream.Clients, error) {
	client, err := cfg.outbound()
	if err != nil {
		return nil, err
	}
	u, err := upstream.New(ctx, upstream.Config{HTTP: client, ReplicateURL: cfg.ReplicateURL, MaxFile: int64(cfg.MaxFile), RefuseUnbound: cfg.refuseUnbound(), Version: thisBuild().Version})
	if err != nil {
		return nil, usageError(fmt.Sprintf("SLUICE_REPLICATE_URL: %v", err))
	}
	return u, nil
}

// platform returns the operating system, architecture and Go version, which bug reports
// need.
func platform() string { return runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version() }
