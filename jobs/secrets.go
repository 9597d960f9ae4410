package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/flow"
	"sluice/flow/contract"
	"sluice/flow/sorting"
)

// A service may return a secret in any later step of a run, not only in the one that sent it. So
// results are redacted with all secrets that the run may have used. These are found from the
// documents of its tree of runs instead of being recorded, so they are also known after a restart,
// to another instance, and in child runs, and using a secret costs no write.

// documentSecrets are the secrets that a document names.
type documentSecrets struct {
	credentials []string // their names
	providers   []string // whose default credentials nodes use
	inputs      bool     // it has secret inputs
	outside     int      // steps that exchange data with services; only these can get a secret back
}

// secretsOf returns the secrets that a document names.
func (c *documentCache) secretsOf(d *flow.Document, inputs []contract.Input) (s documentSecrets) {
	s.inputs = slices.ContainsFunc(inputs, func(in contract.Input) bool { return in.Secret })
	for i := range d.Nodes {
		n := &d.Nodes[i]
		k := c.kinds.For(n)
		if k == nil || n.Disabled {
			continue
		}
		if k.Class == flow.Outside {
			s.outside++
		}
		s.credentials = append(s.credentials, flow.CredentialsIn(n.Config)...)
		if c.providerOf != nil && !flow.IsSecretRef(n.Config["credential"]) {
			if provider := c.providerOf(n); provider != "" {
				s.providers = append(s.providers, provider)
			}
		}
	}
	s.credentials, s.providers = unique(s.credentials), unique(s.providers)
	return s
}

// unique sorts a list and removes duplicates.
func unique(list []string) []string {
	sorting.Strings(list)
	return slices.Compact(list)
}

// secretFinder finds the secrets that runs may have used.
type secretFinder struct {
	store     Store
	documents *documentCache
	resolver  *flow.Resolver // nil if there are no credentials
	tests     *testCache
}

// ofRun implements engine.Engine.UsedSecrets.
func (r *secretFinder) ofRun(ctx context.Context, run *flow.Run) (texts []string, more bool, err error) {
	own, err := r.documents.find(ctx, run.WorkspaceID, run.DocumentHash)
	if err != nil {
		return nil, false, err
	}
	if run.Caller == nil && !own.starts {
		if own.secrets.outside < 2 { // its only such step knows what it uses
			return nil, false, nil
		}
		texts, err = r.open(ctx, run.WorkspaceID, run.ID, own.secrets)
		return texts, false, err
	}
	if texts, _, err = r.ofTree(ctx, run.WorkspaceID, run.ID); err != nil || run.Case == nil {
		return texts, true, err
	}
	ofCase, err := r.ofCase(ctx, run)
	return append(texts, ofCase...), true, err
}

// ofCase returns the secrets that the secret inputs of a case name. A service that a run below gets data from may return them.
func (r *secretFinder) ofCase(ctx context.Context, run *flow.Run) ([]string, error) {
	s, err := r.tests.setting(ctx, run)
	if err != nil || s == nil || len(s.Secrets) == 0 {
		return nil, err
	}
	var named documentSecrets
	for _, credential := range s.Secrets {
		named.credentials = append(named.credentials, credential)
	}
	named.credentials = unique(named.credentials)
	return r.open(ctx, run.WorkspaceID, "", named)
}

// ofTree returns the secrets that the documents of all runs in the tree of a run name. It
// returns none if the run was deleted. below reports that another run started it.
func (r *secretFinder) ofTree(ctx context.Context, ws flow.WorkspaceID, runID flow.RunID) (texts []string, below bool, err error) {
	root, hashes, err := r.store.TreeDocuments(ctx, ws, runID)
	if flow.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var all documentSecrets
	for i, hash := range hashes {
		d, err := r.documents.find(ctx, ws, hash)
		if err != nil {
			if flow.AsError(err).Code != flow.CodeInternal {
				continue // it cannot run, so it has used nothing
			}
			return nil, false, err
		}
		all.credentials, all.providers = append(all.credentials, d.secrets.credentials...), append(all.providers, d.secrets.providers...)
		all.inputs = all.inputs || i == 0 && d.secrets.inputs // no run can set those of another
	}
	all.credentials, all.providers = unique(all.credentials), unique(all.providers)
	texts, err = r.open(ctx, ws, root, all)
	return texts, root != runID, err
}

// open returns the texts of secrets; root has the secret inputs. It leaves out what cannot be opened.
func (r *secretFinder) open(ctx context.Context, ws flow.WorkspaceID, root flow.RunID, s documentSecrets) (texts []string, err error) {
	add := func(text string, err error) error {
		if err == nil {
			texts = append(texts, text)
		} else if !errors.Is(err, flow.ErrNoAccess) && flow.AsError(err).Code == flow.CodeInternal {
			return err
		}
		return nil
	}
	if r.resolver != nil {
		for _, name := range s.credentials {
			if err := add(r.resolver.Secret(ctx, ws, name, "")); err != nil {
				return nil, err
			}
		}
		for _, provider := range s.providers {
			access, err := r.resolver.Access(ctx, ws, provider, nil)
			if err := add(access.Secret, err); err != nil {
				return nil, err
			}
		}
	}
	if !s.inputs {
		return texts, nil
	}
	inputs, err := r.store.RunSecrets(ctx, ws, root)
	if err != nil {
		return nil, fmt.Errorf("open the secret inputs of %s: %w", root, err)
	}
	for _, name := range sorting.Keys(inputs) {
		texts = append(texts, inputs[name])
	}
	return texts, nil
}

// ofDelivery returns the secrets that the run of a delivery may have used, because its receiver may
// return them as well. It reads nothing for an empty response.
func (r *secretFinder) ofDelivery(ctx context.Context, d *flow.Delivery, response []byte) ([]string, error) {
	if d.RunID == "" || len(response) == 0 {
		return nil, nil
	}
	texts, below, err := r.ofTree(ctx, d.WorkspaceID, d.RunID)
	if err != nil || !below {
		return texts, err
	}
	run, err := r.store.FindRun(ctx, d.WorkspaceID, "", d.RunID)
	if flow.IsNotFound(err) || err == nil && run.Case == nil {
		return texts, nil
	}
	if err != nil {
		return nil, err
	}
	ofCase, err := r.ofCase(ctx, run)
	return append(texts, ofCase...), err
}
