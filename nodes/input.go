package nodes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

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
			{Name: "name", Title: "Name", Type: flow.FieldText, Typed: true, Required: true,
				Help: "The field's name in the API. It begins with a letter or _, then letters, digits, _ and -; at most 64 characters."},
			{Name: "type", Title: "Type", Type: flow.FieldValueType, Typed: true, Default: "text", Options: inputTypes(),
				Help: "The type of the value. The API does not convert: a number must be sent as a number."},
			{Name: "items", Title: "Items", Type: flow.FieldSelect, Options: []string{"any", "file"}, Typed: true, Default: "any", More: true,
				Help: "What a list holds. A list of files accepts uploaded files and URLs, like an input of type file."},
			{Name: "secret", Title: "Secret", Type: flow.FieldBoolean, Typed: true, Default: false, More: true,
				Help: "Encrypts the text and shows it nowhere: not in runs, steps, webhooks or logs. It can be connected only to fields for secrets and to placeholders in a URL, a query, a header or a body."},
			{Name: "default", Title: "Default", Type: flow.FieldJSON, Typed: true,
				Help: "Used when the request omits the input. With a default, even an empty one, the input is optional."},
			{Name: "description", Title: "Description", Type: flow.FieldArea, Typed: true,
				Help: "What the value is for, in a sentence. It is shown in the form and in the OpenAPI document."},
			{Name: "example", Title: "Example", Type: flow.FieldJSON, Typed: true, More: true,
				Help: "A typical value. The form and the code samples show it."},
			{Name: "min", Title: "Minimum", Type: flow.FieldNumber, Typed: true, More: true,
				Help: "Minimum of a number, of the characters of a text, or of the items of a list."},
			{Name: "max", Title: "Maximum", Type: flow.FieldNumber, Typed: true, More: true,
				Help: "Maximum of a number, of the characters of a text, or of the items of a list."},
			{Name: "pattern", Title: "Pattern", Type: flow.FieldText, Typed: true, More: true,
				Help: "A regular expression (RE2) that must match somewhere in a text. Begin it with ^ and end it with $ to match the whole."},
			{Name: "enum", Title: "Allowed values", Type: flow.FieldList, Typed: true, More: true,
				Help: "If set, only these values are accepted. The form shows them as a choice."},
			{Name: "accept", Title: "Accepted files", Type: flow.FieldList, Typed: true, More: true,
				Help: "For files and lists of files: media types such as image/* and file extensions such as .pdf. If set, other files are rejected."},
			{Name: "roles", Title: "Roles", Type: flow.FieldList, Typed: true, More: true,
				Help: "For messages: the accepted roles. Default: user and assistant, and system from programs with a key. A form never accepts system."},
			{Name: "images", Title: "Pictures", Type: flow.FieldBoolean, Typed: true, Default: true, More: true,
				Help: "For messages: whether they may have pictures. Turn it off if the model cannot see."},
		},
		Outputs: []flow.Port{{Name: "value", Title: "Value", Type: flow.TypeAny, Help: "The value from the request, or the default."}},
		Example: flow.Example{
			Config:  map[string]any{"name": "ticket", "type": "text", "description": "What the customer wrote.", "max": flow.Number(5000)},
			Ports:   map[string]any{"value": "My parcel has not arrived."},
			Outputs: map[string]any{"value": "My parcel has not arrived."},
		},
		Run: passInput,
	}
})

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
