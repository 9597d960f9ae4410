package nodes

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"sluice/flow"
	"sluice/nodes/errtext"
	"sluice/outbound"
	"sluice/providers"
)

// Limits of content that is downloaded for a model and held in memory, in bytes. They match the
// providers' limits: none accepts a larger image, and OpenAI no larger recording.
const (
	maxPicture   = 20 << 20
	maxPictures  = 48 << 20 // in total per step
	maxRecording = 25 << 20
	maxImages    = 50 // per step
)

// gatherer converts file values, URLs and data URLs to media for a model.
type gatherer struct {
	client     HTTPClient
	in         *flow.In
	field      string
	typePrefix string    // prefix of accepted media types; empty accepts all except text
	links      bool      // the provider downloads URLs itself
	max        int64     // limit of one download in bytes
	total      int64     // limit of all downloads in bytes
	got        int64     // bytes downloaded so far
	data       bool      // the values are data: references to credentials are not resolved
	kept       *sync.Map // see Deps.kept
}

// images returns the images in a field, which contains a list or a single one.
func (d Deps) images(ctx context.Context, in *flow.In, field string, links bool) ([]providers.Media, error) {
	list, isList := in.Config[field].([]any)
	if one := in.Config[field]; !isList && one != nil && one != "" {
		list = []any{one}
	}
	if len(list) > maxImages {
		return nil, tooManyImages(field, len(list))
	}
	g := d.imageGatherer(in, field, links)
	var out []providers.Media
	for _, value := range list {
		if value == nil {
			continue
		}
		m, err := g.gather(ctx, value)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// imageGatherer returns a gatherer for the images of a field, with the limits maxPicture and
// maxPictures. links allows passing URLs on to providers that download them.
func (d Deps) imageGatherer(in *flow.In, field string, links bool) *gatherer {
	return &gatherer{client: d.HTTP, in: in, field: field, typePrefix: "image/", links: links, max: maxPicture, total: maxPictures, kept: d.kept}
}

// tooManyImages returns the error for more than maxImages images.
func tooManyImages(field string, n int) error {
	return flow.Errorf(flow.CodeInputInvalid, "%q has %d images; the limit is %d.", field, n, maxImages)
}

// gather converts one value.
func (g *gatherer) gather(ctx context.Context, value any) (providers.Media, error) {
	if _, isFile := flow.FileID(value); isFile {
		return g.stored(ctx, value)
	}
	text, isText := value.(string)
	text = strings.TrimSpace(text)
	switch {
	case !isText || text == "":
		return providers.Media{}, flow.Errorf(flow.CodeInputInvalid, "%q must contain files or URLs of files, got %s.", g.field, errtext.Type(value))
	case len(text) > 5 && strings.EqualFold(text[:5], "data:"):
		return g.inline(text)
	}
	if _, fed := g.in.Ports[g.field]; !fed && !g.data { // only typed text may reference credentials
		if references := flow.ParseSecretText(text); references != nil {
			return g.fetchSecret(ctx, references)
		}
	}
	u, err := outbound.ParseURL(text)
	if err != nil {
		return providers.Media{}, flow.Errorf(flow.CodeInputInvalid, "%q must contain files or URLs of files. %s", g.field, err)
	}
	if g.links {
		return providers.Media{URL: u.String()}, nil
	}
	return g.fetch(ctx, u)
}

// fetchSecret downloads from a URL with credentials. Such a URL is never passed
// to the provider: its credentials are meant for the host of the URL.
func (g *gatherer) fetchSecret(ctx context.Context, text flow.SecretText) (providers.Media, error) {
	u, err := text.FillURL(parseTarget, func(credential, host string) (string, error) {
		return g.in.Secret(ctx, flow.SecretRefTo(credential), host)
	})
	if err != nil {
		return providers.Media{}, err
	}
	return g.fetch(ctx, u)
}

// stored returns an uploaded file. Its name and type come from the store and
// not from the value, which any client can forge.
func (g *gatherer) stored(ctx context.Context, value any) (providers.Media, error) {
	f, content, err := g.in.OpenFile(ctx, value)
	if err != nil {
		return providers.Media{}, err
	}
	_ = content.Close() // nothing was read
	m := providers.Media{Name: withEnding(f.Name, f.MIME), MIME: f.MIME, Size: f.Size, Open: func() (io.ReadCloser, error) {
		_, content, err := g.in.OpenFile(ctx, value)
		return content, err
	}}
	return m, g.check("The file "+f.Name, f.MIME)
}

// inline decodes a data URL.
func (g *gatherer) inline(text string) (providers.Media, error) {
	bad := flow.Errorf(flow.CodeInputInvalid, "%q has a data URL that cannot be read. Write it like data:image/png;base64,….", g.field)
	head, data, ok := strings.Cut(text[len("data:"):], ",")
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !isBase64 {
		return providers.Media{}, bad
	}
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return providers.Media{}, bad
	}
	kind, _, _ = mime.ParseMediaType(kind)
	return g.held("", kind, "The data URL", content)
}

// fetch downloads a file for a provider that does not fetch URLs.
func (g *gatherer) fetch(ctx context.Context, u *url.URL) (providers.Media, error) {
	if g.kept == nil {
		return g.download(ctx, u)
	}
	if file, known := g.kept.Load(u.String()); known {
		return g.stored(ctx, file)
	}
	m, err := g.download(ctx, u)
	if err != nil {
		return m, err
	}
	content, err := m.Open()
	if err != nil {
		return m, err
	}
	file, err := g.in.SaveFile(ctx, m.Name, m.MIME, content)
	if err != nil {
		return m, err
	}
	g.kept.Store(u.String(), file)
	return m, nil
}

// download downloads a file into memory.
func (g *gatherer) download(ctx context.Context, u *url.URL) (providers.Media, error) {
	answer, err := g.client.Do(ctx, outbound.Request{URL: u.String(), MaxRedirects: outbound.MaxRedirects, MaxBody: min(g.max, max(g.total-g.got, 1))})
	if ctx.Err() != nil {
		return providers.Media{}, ctx.Err()
	}
	if e, ok := errors.AsType[*outbound.Error](err); ok && e.Class == outbound.ClassTooLarge {
		return providers.Media{}, flow.Errorf(flow.CodeInputInvalid, "The file from %s for %q is too large: the limit is %s per file and %s in total.",
			u.Hostname(), g.field, flow.Size(g.max), flow.Size(g.total))
	}
	if err != nil {
		return providers.Media{}, requestError(err)
	}
	if answer.Status != http.StatusOK {
		e := flow.Errorf(flow.CodeHTTPFailed, "%s answered %d %s when %q was fetched.", u.Hostname(), answer.Status, http.StatusText(answer.Status), g.field)
		e.Retryable = answer.Status == http.StatusTooManyRequests || answer.Status >= 500
		e.After = outbound.RetryAfter(answer.Header, time.Now())
		return providers.Media{}, e
	}
	g.got += int64(len(answer.Body))
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return g.held(path.Base(u.Path), kind, "What "+u.Hostname()+" sent", answer.Body)
}

// held returns media for content in memory. Its type is detected if the server
// did not declare one.
func (g *gatherer) held(name, kind, what string, content []byte) (providers.Media, error) {
	if kind == "" || kind == "application/octet-stream" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(content))
	}
	m := providers.Media{Name: withEnding(name, kind), MIME: kind, Size: int64(len(content)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}}
	return m, g.check(what, kind)
}

// check rejects content of a wrong type, such as an HTML page instead of an image.
func (g *gatherer) check(what, kind string) error {
	if g.typePrefix != "" && strings.HasPrefix(kind, g.typePrefix) || g.typePrefix == "" && !strings.HasPrefix(kind, "text/") {
		return nil
	}
	return flow.Errorf(flow.CodeInputInvalid, "%s is %s, which %q does not accept.", what, kind, g.field)
}

// endings are the file extensions for the media types that models accept and generate.
// Providers detect the format of a recording by its extension.
var endings = map[string]string{
	"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif",
	"audio/mpeg": ".mp3", "audio/mp3": ".mp3", "audio/wav": ".wav", "audio/x-wav": ".wav", "audio/wave": ".wav", "audio/vnd.wave": ".wav",
	"audio/ogg": ".ogg", "application/ogg": ".ogg", "audio/opus": ".opus", "audio/flac": ".flac", "audio/x-flac": ".flac", "audio/aac": ".aac",
	"audio/mp4": ".m4a", "audio/x-m4a": ".m4a", "video/mp4": ".mp4", "audio/webm": ".webm", "video/webm": ".webm", "audio/pcm": ".pcm",
}

// withEnding adds the extension to a name without one.
func withEnding(name, kind string) string {
	if name == "" || name == "." || name == "/" {
		name = "file"
	}
	if path.Ext(name) == "" {
		name += endings[kind]
	}
	return name
}
