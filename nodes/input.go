package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/flow"
	"sluice/flow/contract"
)

// The input kind is a parameter of a run: a field of the API's request body, of the form
// and of the command line. Package flow validates it before a run is accepted.
var _ = register(func(Deps) flow.Kind {
	return flow.Kind{
		Name: "input", Title: "Input", Group: groupAPI, Icon: "log-in", Role: flow.RoleInput,
		Summary: "An input of the flow: one field of the request.",
		Doc: "Every input node is one field of the request that starts a run, and one field of the flow's form. " +
			"Its name, type and limits are checked before a run is accepted, with every problem reported at once, " +
			"and they appear in the flow's OpenAPI document.\n\n" +
			"An input without a default is required. Any default, even an empty text, makes it optional.\n\n" +
			"The value of a file is {\"file\": \"file_…\"} after an upload with POST /v1/files, or its address: an https URL, a data URL, or " +
			"{\"url\": \"https://…\", \"name\": \"cat.png\"}. Sluice fetches an address once, when the run starts, and stores the file with the run; " +
			"retries and reruns use the stored file. Up to three redirects are followed; private and reserved addresses are refused. " +
			"A fetched file can be up to 64 MiB (SLUICE_MAX_FETCH) and counts against the workspace's storage.\n\n" +
			"The type `messages` is a conversation: a list such as [{\"role\": \"user\", \"content\": \"Hello\"}]. The content is a text, or a list of parts as in OpenAI's API: " +
			"{\"type\": \"text\", \"text\": \"…\"} and {\"type\": \"image_url\", \"image_url\": {\"url\": \"https://…\"}}, where a picture can also be an uploaded file. " +
			"Connect it to Messages of a chat node. With such an input, the flow is a chat on its form page and a model for clients of OpenAI's API.",
		Fields: []flow.Field{
			{Name: "name", Title: "API name", Type: flow.FieldText, Typed: true, Required: true,
				Help: "Field name in the API. Letters, digits, _ and -."},
			{Name: "type", Title: "Type", Type: flow.FieldValueType, Typed: true, Default: "text", Options: inputTypes(),
				Help: "Send numbers as numbers; values aren't converted."},
			{Name: "items", Title: "Items", Type: flow.FieldSelect, Options: []string{"any", "file"}, Typed: true, Default: "any", More: true,
				Help: "A list of files accepts uploads and URLs."},
			{Name: "secret", Title: "Secret", Type: flow.FieldBoolean, Typed: true, Default: false, More: true,
				Help: "Encrypted, and never shown in runs, webhooks or logs. Connect it to fields for secrets, or to values in a URL, query, header or body."},
			{Name: "default", Title: "Default", Type: flow.FieldJSON, Typed: true,
				Help: "Used if the caller leaves it out."},
			{Name: "description", Title: "Description", Type: flow.FieldArea, Typed: true,
				Help: "Shown in the form and in the API reference."},
			{Name: "example", Title: "Example", Type: flow.FieldJSON, Typed: true, More: true,
				Help: "Shown in the form and in code samples."},
			{Name: "min", Title: "Minimum", Type: flow.FieldNumber, Typed: true, More: true,
				Help: "For numbers, and for the length of texts and lists."},
			{Name: "max", Title: "Maximum", Type: flow.FieldNumber, Typed: true, More: true,
				Help: "For numbers, and for the length of texts and lists."},
			{Name: "pattern", Title: "Pattern", Type: flow.FieldText, Typed: true, More: true,
				Help: "A regular expression that the text must contain. Use ^ and $ to match the whole text."},
			{Name: "enum", Title: "Allowed values", Type: flow.FieldList, Typed: true, More: true,
				Help: "Other values are rejected. The form shows them as a choice."},
			{Name: "accept", Title: "Accepted files", Type: flow.FieldList, Typed: true, More: true,
				Help: "Media types such as image/*, or extensions such as .pdf. Empty: any file."},
			{Name: "roles", Title: "Roles", Type: flow.FieldList, Typed: true, More: true,
				Help: "Empty: user and assistant, and system from programs with a key."},
			{Name: "untrusted", Title: "Untrusted", Type: flow.FieldBoolean, Typed: true, Default: false, More: true,
				Help: "For programs that pass on what others wrote. Agents then ask before they change something. Inputs from forms, webhooks and batches are always untrusted."},
			{Name: "images", Title: "Pictures", Type: flow.FieldBoolean, Typed: true, Default: true, More: true,
				Help: "Turn this off if the model has no vision."},
		},
		Outputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Help: "The value from the request, or the default."}},
		Example: flow.Example{
			Config:  map[string]any{"name": "ticket", "type": "text", "description": "What the customer wrote.", "max": flow.Number(5000)},
			Ports:   map[string]any{"value": "My parcel has not arrived."},
			Outputs: map[string]any{"value": "My parcel has not arrived."},
		},
		Run:     passInput,
		Fetches: fetchesFiles,
	}
})

// fetchesFiles reports whether a file of an input is given by a URL from which it must be downloaded.
func fetchesFiles(in *flow.In) bool {
	input := contract.ReadInput(&flow.Node{ID: in.Node, Config: in.Config})
	for _, f := range input.RemoteFiles(in.Ports["value"]) {
		if !strings.HasPrefix(f.URL, "data:") {
			return true
		}
	}
	return false
}

// passInput outputs the value of the input. It downloads files that are given by URL and
// replaces the URLs by file values.
func passInput(ctx context.Context, in *flow.In) (flow.Out, error) {
	input := contract.ReadInput(&flow.Node{ID: in.Node, Config: in.Config})
	value := in.Ports["value"]
	remote := input.RemoteFiles(value)
	if len(remote) == 0 {
		return passOn(ctx, in)
	}
	accepts := func(f *flow.File) error {
		if input.Accepts(f) {
			return nil
		}
		return flow.Errorf(flow.CodeInputInvalid, "%s.", input.NotAccepted(f).Detail)
	}
	files := map[int]any{}
	for _, i := range slices.Sorted(maps.Keys(remote)) {
		file, err := in.FetchFile(ctx, strconv.Itoa(i), remote[i], accepts)
		if err != nil {
			return flow.Out{}, flow.InField(err, fmt.Sprintf("The input %q", input.Name))
		}
		files[i] = file
	}
	return flow.Out{Outputs: map[string]any{"value": input.MapFiles(value, func(i int, file any) any {
		if fetched, ok := files[i]; ok {
			return fetched
		}
		return file
	})}}, nil
}

// inputTypes returns the options of the field "type".
func inputTypes() []string {
	list := make([]string, len(contract.InputTypes))
	for i, t := range contract.InputTypes {
		list[i] = string(t)
	}
	return list
}

// passOn outputs its input unchanged.
func passOn(_ context.Context, in *flow.In) (flow.Out, error) {
	return flow.Out{Outputs: map[string]any{"value": in.Ports["value"]}}, nil
}
