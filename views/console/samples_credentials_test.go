package console

import (
	"time"

	"sluice/views/components"
	"sluice/views/layout"
	"sluice/views/viewtest"

	"github.com/a-h/templ"
)

func credentialsSamples(theme layout.Theme) map[string]templ.Component {
	in, models := viewtest.Page("Credentials", layout.SectionCredentials, theme), viewtest.Page("Models", layout.SectionModels, theme)
	uses := []CredentialUse{{FlowID: "flow_1", Flow: "Route a support ticket", Nodes: []string{"write", "check"}, Live: true}, {FlowID: "flow_2", Flow: "Answer from the handbook", Nodes: []string{"write"}}}
	openai := CredentialRow{Name: "openai", Provider: "OpenAI", Hosts: []string{"api.openai.com"}, ChangedAt: viewtest.Noon.Add(-26 * time.Hour), Uses: uses}
	rows := []CredentialRow{
		openai, {Name: "gpu-1", Provider: "vLLM", Hosts: []string{"gpu-1.internal"}, ChangedAt: viewtest.Noon.Add(-9 * 24 * time.Hour)},
		{Name: "crm-token", ChangedAt: viewtest.Noon.Add(-time.Hour), Plain: true, Uses: uses[:1]}, {Name: "REPLICATE_API_TOKEN", Provider: "Replicate", Hosts: []string{"api.replicate.com"}, Environment: true},
	}
	hosted := []components.ModelGroup{
		{Title: "Pictures", Models: []components.ModelChoice{{ID: "black-forest-labs/flux-schnell", Title: "FLUX schnell", Text: "Makes pictures of descriptions, quickly.", Detail: "300 M runs"}, {ID: "google/imagen-4", Title: "Imagen 4", Text: "Makes pictures with text in them."}}},
		{Title: "Speech", Models: []components.ModelChoice{{ID: "minimax/speech-02-hd", Title: "Speech 02 HD", Text: "Speaks a text in many voices."}}},
	}
	local := []components.ModelGroup{{Title: "Ollama, on this machine", Models: []components.ModelChoice{{ID: "ollama/llama3.2", Text: "Llama 3.2"}}}, {Title: "OpenAI", Note: "OpenAI refuses the credential."}}
	return map[string]templ.Component{
		"credentials":          Credentials(in, CredentialsPage{Credentials: rows, MayEdit: true, Now: viewtest.Noon}),
		"credentials-viewer":   Credentials(in, CredentialsPage{Credentials: rows, Now: viewtest.Noon}),
		"credentials-empty":    Credentials(in, CredentialsPage{MayEdit: true, Now: viewtest.Noon}),
		"credentials-choose":   ChooseProvider(in, []ProviderCard{{"openai", "OpenAI", "chat, embed, image, speech, transcribe"}, {"anthropic", "Anthropic", "chat"}, {"plain", "Something else", "A plain secret for headers and signatures"}}),
		"credentials-add":      NewCredentialPage(in, AddCredential{Provider: "openai", Title: "OpenAI", KeysURL: "https://platform.openai.com/api-keys", Name: "openai"}),
		"credentials-errors":   NewCredentialPage(in, AddCredential{Provider: "vllm", Title: "vLLM", OwnAddress: true, Optional: true, Name: "gpu 1", BaseURL: "gpu-1", Errors: components.Errors{"name": "Up to 64 letters, digits, _, . and -.", "base_url": "Write it like https://models.example.com/v1."}}),
		"credentials-plain":    NewCredentialPage(in, AddCredential{Provider: "plain", Title: "something else", Plain: true, Hosts: "api.example.com"}),
		"credential":           Credential(in, CredentialPage{Credential: openai, Now: viewtest.Noon}),
		"credential-errors":    Credential(in, CredentialPage{Credential: openai, Now: viewtest.Noon, Errors: components.Errors{"sure": "Tick this to remove it all the same.", "secret": "Paste the secret here."}}),
		"models-hosted":        ModelShelves(models, ModelsPage{Groups: hosted, Categories: []string{"Pictures", "Speech"}, MayEdit: true}),
		"models-none":          ModelShelves(models, ModelsPage{Query: "nothing", Categories: []string{"Pictures", "Speech"}, Category: "Speech"}),
		"models-providers":     ModelShelves(models, ModelsPage{Shelf: ShelfProviders, Groups: local, MayEdit: true}),
		"models-no-providers":  ModelShelves(models, ModelsPage{Shelf: ShelfProviders, MayEdit: true}),
		"models-built-in":      ModelShelves(models, ModelsPage{Shelf: ShelfBuiltIn, BuiltIn: []BuiltInModel{{Title: "Classify", Icon: "tags", Group: "builtin", Text: "Finds which of your labels fits a text best."}, {Title: "Sentiment", Icon: "smile", Group: "builtin", Text: "Rates whether a text sounds positive."}}}),
		"model":                HostedModel(models, ModelPage{ID: "black-forest-labs/flux-schnell", Title: "FLUX schnell", Text: "Makes pictures of descriptions, quickly.", Version: "c846a69991da…", MayEdit: true, Inputs: []ModelInput{{Name: "prompt", Type: "area", Help: "What the picture shows.", Required: true}, {Name: "num_outputs", Type: "integer, 1 to 4", Default: "1", Help: "How many pictures."}}, Outputs: []ModelOutput{{"output", "list"}}}),
		"model-without-access": HostedModel(models, ModelPage{ID: "google/imagen-4", Title: "Imagen 4", Text: "Makes pictures.", Why: "Replicate needs a credential. Add one under Credentials.", MayEdit: true}),
	}
}
