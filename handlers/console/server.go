// Package console is the dashboard outside the builder: the lists of flows and
// runs, the page of a run, keys, credentials, webhooks and deliveries, usage,
// limits, the audit log, models and the documentation.
package console

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"sluice/flow"
	"sluice/flow/library"
	"sluice/handlers/web"
)

// Store is what the room reads and changes. What is missing is an Error of
// CodeNotFound.
type Store interface {
	library.FlowReader
	library.KeyStore
	AddTest(ctx context.Context, ws, flowID string, n *flow.NewDelivery) (*flow.Delivery, error)
	ArchiveFlow(ctx context.Context, ws, flowID string) error
	CountFailed(ctx context.Context, c flow.FailedChoice, most int) (int, error)
	EndSigning(ctx context.Context, ws, flowID string) error
	EndWebhookSecret(ctx context.Context, o flow.WebhookOwner) error
	FindCredential(ctx context.Context, ws, name string) (flow.Credential, error)
	FindDocument(ctx context.Context, ws, hash string) ([]byte, error)
	FindEndpoint(ctx context.Context, ws, id string) (*flow.Endpoint, error)
	FindFlow(ctx context.Context, ws, flowID string) (*flow.Flow, error)
	FindKey(ctx context.Context, ws, id string) (*flow.Key, error)
	FindRun(ctx context.Context, ws, flowID, runID string) (*flow.Run, error)
	FindSteps(ctx context.Context, ws, runID string) ([]flow.Step, error)
	FindStorage(ctx context.Context, ws string) (*flow.WorkspaceStorage, error)
	FlowBudgets(ctx context.Context, f *flow.Flow) ([]flow.Budget, error)
	FlowStats(ctx context.Context, ws string, flowIDs []string, now time.Time) (map[string]flow.Day, error)
	KeyBudgets(ctx context.Context, k *flow.Key) ([]flow.Budget, error)
	KeyWebhookSecret(ctx context.Context, ws, keyID string) (string, error)
	ListAudit(ctx context.Context, ws, beforeID string, limit int) ([]flow.AuditEntry, error)
	ListAuditAfter(ctx context.Context, ws, afterID string, limit int) ([]flow.AuditEntry, error)
	ListCredentials(ctx context.Context, ws string) ([]flow.Credential, error)
	ListDeliveriesOfRun(ctx context.Context, ws, runID string) ([]flow.DeliveryRecord, error)
	ListDeliveryRows(ctx context.Context, c flow.DeliveryChoice) (flow.DeliveryPage, error)
	ListEndpoints(ctx context.Context, ws, flowID string, failing bool, limit int) ([]flow.Endpoint, error)
	ListFlowHeads(ctx context.Context, ws string) ([]flow.Flow, error)
	ListHosts(ctx context.Context, ws string, limit int) ([]string, error)
	ListKeyMakers(ctx context.Context, ws string) (map[string]flow.KeyMaker, error)
	ListKeys(ctx context.Context, ws string) ([]flow.Key, error)
	ListPrices(ctx context.Context, ws string) ([]flow.Price, error)
	ListRunRows(ctx context.Context, c flow.RunChoice) (flow.RunPage, error)
	ListVersions(ctx context.Context, ws, flowID string) ([]flow.Version, error)
	OpenCredential(ctx context.Context, ws, name string) (flow.Credential, string, error)
	PeekWebhookSecret(ctx context.Context, o flow.WebhookOwner) (flow.WebhookSecret, error)
	ReadDelivery(ctx context.Context, ws, id string) (*flow.DeliveryRecord, error)
	Redeliver(ctx context.Context, ws, id string) (*flow.Delivery, error)
	RedeliverFailed(ctx context.Context, c flow.FailedChoice, most int) (int, error)
	RemoveCredential(ctx context.Context, ws, name string) error
	RestoreFlow(ctx context.Context, ws, flowID string) error
	RotateSigning(ctx context.Context, ws, flowID string, overlap time.Duration) (string, error)
	RotateWebhookSecret(ctx context.Context, o flow.WebhookOwner, overlap time.Duration) (string, error)
	SaveCredential(ctx context.Context, c flow.Credential, secret string) error
	SetCredentialHosts(ctx context.Context, ws, name string, hosts []string) error
	SetFlowLimits(ctx context.Context, ws, flowID string, l flow.Limits) error
	SigningSecrets(ctx context.Context, ws, flowID string) ([]flow.SigningSecret, error)
	TagFlow(ctx context.Context, ws, flowID string, tags []string) error
	Usage(ctx context.Context, ws string, from, to time.Time) ([]flow.UsageDay, error)
	WebhookSecret(ctx context.Context, o flow.WebhookOwner) (flow.WebhookSecret, error)
}

// Config is what the room needs beside the site.
type Config struct {
	Store     Store
	Library   *library.Library
	Runner    web.Runner
	Models    web.Models
	Providers Providers
	Links     *flow.FileLinks
	Starters  []Starter
	// API answers a request to the HTTP API as if it bore the key, which need not
	// be in the store.
	API func(key *flow.Key, w http.ResponseWriter, r *http.Request)
}

// Server is the room.
type Server struct {
	*web.Site
	Config
	docs func() (*shelf, error) // read on first use
}

// New returns the room of a site. Its routes still have to be mounted.
func New(site *web.Site, cfg Config) *Server {
	s := &Server{Site: site, Config: cfg}
	s.docs = sync.OnceValues(s.newShelf)
	return s
}

// call is one request to this room.
type call struct {
	*web.Call
	s *Server
}

func (s *Server) newCall(c *web.Call) *call { return &call{c, s} }

// route is a line of the room's table of routes.
type route struct {
	method, path string
	access       web.Access
	handle       func(*call) error
}

// Routes returns the routes of the room.
func (s *Server) Routes() []web.Route {
	table := slices.Concat(
		s.flowRoutes(),
		s.runRoutes(),
		s.runListRoutes(),
		s.usageRoutes(),
		s.limitRoutes(),
		s.credentialRoutes(),
		s.deliveryRoutes(),
		s.webhookRoutes(),
		s.keyRoutes(),
		s.modelRoutes(),
		s.auditRoutes(),
		s.docsRoutes(),
	)
	list := make([]web.Route, len(table))
	for i, r := range table {
		list[i] = web.Route{Method: r.method, Path: r.path, Access: r.access, Handle: func(c *web.Call) error { return r.handle(s.newCall(c)) }}
	}
	return list
}

// streaming wraps a handler that sends an event stream.
func streaming(handle func(*call) error) func(*call) error {
	return func(c *call) error { return c.CountStream(c.Member.UserID, func() error { return handle(c) }) }
}
