package nodes

import (
	"cmp"
	"context"

	"sluice/flow"
	"sluice/flow/redaction"
)

// maxFile is the maximum size of a downloaded file in bytes.
const maxFile = 512 << 20

// The file kind outputs a stored file or downloads one.
var _ = register(func(d Deps) flow.Kind {
	return flow.Kind{
		Name: "file", Title: "File", Group: groupSources, Icon: "file", Class: flow.Outside, Reads: true, Timeout: flow.ModelTimeout,
		Summary: "Outputs a stored file, or downloads one from a URL.",
		Doc: "Outputs an uploaded file, or downloads one and stores it with the run. Set either `file` or `url`. " +
			"Connect the file to `document`, to a model that accepts images, or to an output.\n\n" +
			"Up to three redirects are followed; private and reserved addresses are refused. A file can be up to 512 MiB.",
		Fields: []flow.Field{
			{Name: "file", Title: "File", Type: flow.FieldFile, Help: "An uploaded file. Leave it empty to download one."},
			{Name: "url", Title: "URL", Type: flow.FieldText, Template: true, Escape: flow.EscapeURL, Secrets: flow.SecretsInURL,
				Help: "Where to download the file. Type {{ to insert a value."},
			{Name: "name", Title: "Name", Type: flow.FieldText, More: true,
				Help: "Such as report.pdf. Empty: the name from the server."},
		},
		Outputs: []flow.Port{
			{Name: "file", Title: "File", Type: flow.TypeFile, Help: "The file."},
			{Name: "name", Title: "Name", Type: flow.TypeText, Help: "Its name, such as report.pdf."},
			{Name: "mime", Title: "Media type", Type: flow.TypeText, Help: "Its media type, such as application/pdf."},
			{Name: "size", Title: "Size", Type: flow.TypeNumber, Help: "Its size in bytes."},
		},
		Example:   flow.Example{Config: map[string]any{"url": "https://example.com/reports/{{year}}.pdf"}, Ports: map[string]any{"year": "2026"}},
		Sends:     &flow.Destination{Field: "url", Hosts: flow.URLHost("url")},
		Check:     checkFile,
		Untrusted: fromOutside,
		Run:       func(ctx context.Context, in *flow.In) (flow.Out, error) { return outputFile(ctx, d.HTTP, in) },
	}
})

// checkFile rejects a node with both a file and a URL. Neither is valid, since an edge may
// provide one.
func checkFile(n *flow.Node) []flow.Problem {
	if n.Config["file"] != nil && n.Config["url"] != nil && n.Config["url"] != "" {
		return []flow.Problem{{Pointer: "/url", Code: "invalid", Detail: "give either a file or a URL, not both"}}
	}
	return checkURL(n, "url")
}

// outputFile passes a stored file on, or downloads the one at a URL. It requires exactly one
// of the two.
func outputFile(ctx context.Context, client HTTPClient, in *flow.In) (flow.Out, error) {
	file, address := in.Config["file"], in.Text("url")
	switch {
	case file != nil && address != "":
		return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "There is both a file and a URL. Give one of the two.")
	case file != nil:
		return storedFile(ctx, in, file)
	case address != "":
		return fetchFile(ctx, client, in)
	}
	return flow.Out{}, flow.Errorf(flow.CodeInputInvalid, "There is neither a file nor a URL. Give one of the two.")
}

// storedFile passes a stored file on after checking that it still exists.
func storedFile(ctx context.Context, in *flow.In, value any) (flow.Out, error) {
	f, content, err := in.OpenFile(ctx, value)
	if err != nil {
		return flow.Out{}, err
	}
	_ = content.Close() // nothing was read
	return fileOutputs(f.Value()), nil
}

// fetchFile downloads a file and stores it with the run.
func fetchFile(ctx context.Context, client HTTPClient, in *flow.In) (flow.Out, error) {
	var secrets redaction.Redactor // the name of a file can be the end of its URL
	u, _, err := targetURL(ctx, in, "url", secrets.Add)
	if err != nil {
		return flow.Out{}, err
	}
	s, err := fetch(ctx, client, u.String(), maxFile, "*/*")
	if err != nil {
		return flow.Out{}, err
	}
	defer s.close()
	value, err := keep(ctx, in, cmp.Or(fileName(in.Text("name")), secrets.Text(s.name)), mediaTypeOf(s.mime), s.body)
	if err != nil {
		return flow.Out{}, err
	}
	return fileOutputs(value), nil
}

// fileOutputs returns the ports of a file: the file, and its name, type and size for templates.
func fileOutputs(value map[string]any) flow.Out {
	return flow.Out{Outputs: map[string]any{"file": value, "name": value["name"], "mime": value["mime"], "size": value["size"]}}
}
