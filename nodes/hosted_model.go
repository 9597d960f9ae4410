package nodes

import (
	"context"

	"sluice/flow"
	"sluice/nodes/pinned"
	"sluice/providers"
	"sluice/providers/hosted"
)

// The hosted_model kind runs a model of the hosting platform. Its fields are
// the inputs of the chosen model; package pinned derives them from the schema that the node stores.
// hosted_run.go starts, follows and cancels a prediction; hosted_output.go
// stores its output.
var _ = register(func(d Deps) flow.Kind { return hostedKind(d, defaultTiming) })

// hostProvider is the platform's name in credentials and prices.
const hostProvider = "replicate"

// taskHosted is the task of hosted models. It has no capability to check: only platforms
// such as Replicate host models.
var taskHosted = task{name: "hosted", what: "host models", example: "black-forest-labs/flux-schnell"}

// hostedKind declares the kind hosted_model. Its ports and fields depend on the model whose
// schema the node stores; see package pinned.
func hostedKind(d Deps, pace timing) flow.Kind {
	h := &hostedModels{deps: d, pace: pace}
	return flow.Kind{
		Name: "hosted_model", Title: "Hosted model", Group: groupModels, Icon: "boxes", Class: flow.Outside, Timeout: flow.ModelTimeout, WaitsFor: flow.WaitsForPrediction,
		Summary: "Runs a Replicate model: images, video, audio, text and more.",
		Doc: "Runs any model of Replicate, chosen from the list of featured models, found by searching, or written `owner/name` or `owner/name:version`. " +
			"It needs a credential: \"sluice credential add --name replicate --provider replicate\", or REPLICATE_API_TOKEN.\n\n" +
			"Every input of the model is a field and a port named `input.` and its name, such as `input.prompt`. Only inputs that are set are sent; the model has defaults for the rest. " +
			"If the model expects a file, a file of Sluice is uploaded and a URL is passed on unchanged. " +
			"The node stores the version of the model and its schema, so the flow keeps working when the model changes. " +
			"Without a stored schema the newest version is used, and its inputs are checked when the node runs. " +
			"Some models have no input schema: write their inputs as one JSON object in `input`. Only the model checks them.\n\n" +
			"`output` is the model's output; each property of an object also has its own port. " +
			"Files are copied into Sluice immediately, because the platform deletes them after an hour. Text is streamed to clients that follow the run.\n\n" +
			"The ID of a prediction is stored immediately, so that after a crash or in a retry the step continues with it instead of paying for another. " +
			"After a minute, the run waits for the prediction without occupying a worker, for at most a day; this wait does not count toward the node's time limit. " +
			"Canceling the run cancels the prediction. The cost of a prediction is computed from the price that the workspace entered for `replicate/owner/name`, per second, call or token.",
		Fields: []flow.Field{
			{Name: "model", Title: "Model", Type: flow.FieldModel, Task: taskHosted.name, Typed: true, Required: true,
				Help: "The model, written owner/name such as " + taskHosted.example + ", or owner/name:version, or the URL of its page."},
			{Name: "version", Title: "Version", Type: flow.FieldText, Typed: true, More: true,
				Help: "The pinned version: 64 hexadecimal digits. Default: the version of the stored schema, or the newest."},
			{Name: "schema", Title: "Schema", Type: flow.FieldJSON, Typed: true, More: true,
				Help: "The inputs and outputs of the model, stored with the node so that the flow keeps working when the model changes. The editor and \"sluice model show --node\" write it. At most 256 KiB."},
			{Name: pinned.AllInputs, Title: "Input (JSON)", Type: flow.FieldJSON, Template: true, More: true,
				Help: "Inputs as one JSON object, for a model without an input schema. An input in a separate field takes precedence."},
			{Name: "hold_s", Title: "Wait for the result", Type: flow.FieldInteger, Typed: true, More: true, Default: 0, Min: ptr(0), Max: ptr(60),
				Help: "How many seconds the request that starts the prediction waits for its result. This avoids polling for fast models, but the prediction's ID is known only after the wait, so a crash in between starts it again."},
			credentialField,
		},
		Outputs: []flow.Port{{Name: "output", Title: "Output", Type: flow.TypeAny, Help: "The output of the model: a text, a file, a list or JSON."}},
		Example: flow.Example{
			Config: map[string]any{"model": taskHosted.example, "input.prompt": "A watercolor of a {{animal}}"},
			Ports:  map[string]any{"animal": "fox"},
		},
		Sends: &flow.Destination{Hosts: func(*flow.Node) []string { return h.hosts() }},
		Open:  pinned.InputPrefix, DynamicSchema: pinned.Schema, Check: pinned.Check,
		Tool: &flow.ToolUse{},
		Run:  h.run, Cleanup: h.abandon, Charge: chargeHosted,
	}
}

// hosts returns the hosts of the platform.
func (h *hostedModels) hosts() []string {
	if h.deps.Host == nil {
		p, _ := providers.FindPreset(hostProvider)
		return p.Hosts
	}
	return addressHosts(h.deps.Host.Address())
}

// chargeHosted returns the expected use of the model. Prices are per model, not per version.
func chargeHosted(config map[string]any) (flow.Charge, bool) {
	ref, err := hosted.ParseRef(flow.Text(config["model"]))
	if err != nil {
		return flow.Charge{}, true
	}
	return flow.Charge{Model: hostProvider + "/" + ref.Path(), Seconds: hostedSeconds}, true
}

// hostedModels runs nodes of the kind hosted_model.
type hostedModels struct {
	deps Deps
	pace timing
}

// abandon cancels the prediction of a step that has ended, because it is billed by the second
// until it is canceled.
func (h *hostedModels) abandon(ctx context.Context, in *flow.In) error {
	state, ok := readState(in.State)
	if !ok || h.deps.Host == nil {
		return nil // no prediction was started
	}
	s, err := h.open(ctx, in)
	if err != nil {
		return err
	}
	return s.host.Cancel(ctx, s.m.access.Secret, state.id)
}
