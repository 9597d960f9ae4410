package hosted

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/providers"
)

// How long responses of the platform are cached.
const (
	collectionsAge = time.Hour
	searchAge      = 10 * time.Minute
	modelAge       = 10 * time.Minute
)

// Directory finds models in the shipped catalog and, with a secret, in the platform's
// collections and search. Callers must not change its results, which are shared. It is safe
// for concurrent use.
type Directory struct {
	host    Host
	catalog *Featured
	cache   *cache
}

// NewDirectory returns a directory of the models of a host.
func NewDirectory(host Host) *Directory {
	return &Directory{host: host, catalog: Catalog(), cache: newCache(time.Now)}
}

// Categories returns the shipped categories, followed by those of the platform. If the
// platform's cannot be read, it returns the error together with the shipped ones.
func (d *Directory) Categories(ctx context.Context, secret string) ([]Collection, error) {
	out := d.catalog.Categories()
	live, err := d.collections(ctx, secret)
	for _, c := range live {
		if !slices.ContainsFunc(out, func(have Collection) bool { return have.Slug == c.Slug }) {
			out = append(out, c)
		}
	}
	return out, err
}

// collections returns the platform's collections, or none without a secret. They are
// cached for collectionsAge per secret, because the platform may show more to some
// accounts.
func (d *Directory) collections(ctx context.Context, secret string) ([]Collection, error) {
	if secret == "" {
		return nil, nil
	}
	return get(ctx, d.cache, cacheKey(secret, "collections"), collectionsAge, func(ctx context.Context) ([]Collection, error) {
		return d.host.Collections(ctx, secret)
	})
}

// Models returns the models of a category, the shipped ones first. It returns the shipped
// ones even with an error.
func (d *Directory) Models(ctx context.Context, secret, category string) ([]Listing, error) {
	shipped := d.catalog.Models(category)
	if secret == "" {
		return shipped, nil
	}
	known, err := d.collections(ctx, secret)
	if err != nil {
		return shipped, err
	}
	if !slices.ContainsFunc(known, func(c Collection) bool { return c.Slug == category }) {
		return shipped, nil
	}
	live, err := get(ctx, d.cache, cacheKey(secret, "collection", category), collectionsAge, func(ctx context.Context) (*Collection, error) {
		return d.host.Collection(ctx, secret, category)
	})
	if err != nil {
		return shipped, err
	}
	return join(shipped, live.Models), nil
}

// Search returns the models that match a query, the shipped ones first. It returns the
// shipped ones even with an error.
func (d *Directory) Search(ctx context.Context, secret, query string) ([]Listing, error) {
	query = oneLine(query, 200)
	shipped := d.catalog.Search(query)
	if secret == "" || query == "" {
		return shipped, nil
	}
	live, err := get(ctx, d.cache, cacheKey(secret, "search", strings.ToLower(query)), searchAge, func(ctx context.Context) ([]Listing, error) {
		return d.host.Search(ctx, secret, query)
	})
	return join(shipped, live), err
}

// join appends the models of more that first does not contain.
func join(first, more []Listing) []Listing {
	out := slices.Clone(first)
	for _, l := range more {
		if !slices.ContainsFunc(out, func(have Listing) bool { return have.Owner == l.Owner && have.Name == l.Name }) {
			out = append(out, l)
		}
	}
	return out
}

// Resolve returns the model that a user typed, with its schema: from the platform, or
// without a secret from the catalog. While the platform is unreachable it returns the
// last known state.
func (d *Directory) Resolve(ctx context.Context, secret, text string) (*Model, error) {
	ref, err := ParseRef(text)
	if err != nil {
		return nil, err
	}
	shipped, ok := d.catalog.Find(ref)
	ships := ok && shipped.Input != nil
	if secret == "" {
		if ships {
			return shipped, nil
		}
		return nil, &providers.Error{Class: providers.ClassAuth,
			Message: "What " + ref.Path() + " takes is read from Replicate, and that needs a credential. " + howToAdd}
	}
	m, err := get(ctx, d.cache, cacheKey(secret, "model", ref.String()), modelAge, func(ctx context.Context) (*Model, error) {
		return d.host.Describe(ctx, secret, ref)
	})
	if e, failed := errors.AsType[*providers.Error](err); failed && ships && e.Retryable {
		return shipped, nil
	}
	if err != nil {
		return nil, err
	}
	return d.titled(m), nil
}

// titled sets the shipped title and description of a model, if there are any.
func (d *Directory) titled(m *Model) *Model {
	shipped, ok := d.catalog.Find(Ref{Owner: m.Owner, Name: m.Name})
	if !ok {
		return m
	}
	out := *m
	out.Title, out.Description = shipped.Title, shipped.Description
	return &out
}
