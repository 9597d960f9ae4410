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
	openai := CredentialRow{Name: "openai", Provider: "OpenAI", Can: []string{"Chat", "Images"}, Hosts: []string{"api.openai.com"}, ChangedAt: viewtest.Noon.Add(-26 * time.Hour), Uses: uses}
	rows := []CredentialRow{
		openai, {Name: "gpu-1", Provider: "vLLM", Hosts: []string{"gpu-1.internal"}, ChangedAt: viewtest.Noon.Add(-9 * 24 * time.Hour)},
		{Name: "crm-token", ChangedAt: viewtest.Noon.Add(-time.Hour), Plain: true, Uses: uses[:1]}, {Name: "REPLICATE_API_TOKEN", Provider: "Replicate", Hosts: []string{"api.replicate.com"}, Environment: true},
	}
	categories := []ModelCategory{{"image-generation", "Image", "image"}, {"text-to-speech", "Speak", "volume-2"}}
	cards := []ModelCard{
		{ID: "classify", Title: "Classify", Text: "Finds which of your labels fits a text best.", Shelf: ShelfBuiltIn, Category: "analyze", Tags: []string{"Offline"}, Price: "Free", PriceNote: "Runs inside Sluice", Kind: "classify"},
		{ID: "ollama/llama3.2", Title: "llama3.2", Text: "Found on this machine, through Ollama.", Shelf: ShelfMachine, Category: "text-generation", Price: "Free", Kind: "chat"},
		{ID: "openai/gpt-5-nano", Title: "gpt-5-nano", Text: "A model of OpenAI.", Shelf: ShelfConnected, Category: "text-generation", Tags: []string{"Vision", "Tools"}, Price: "$0.05 / $0.40", PriceNote: "List price of 2026-09-23, per million tokens in and out", Context: "400K", Kind: "chat"},
		{ID: "black-forest-labs/flux-schnell", Title: "FLUX schnell", Text: "Makes images of descriptions, quickly.", Shelf: ShelfHosted, Category: "image-generation", Tags: []string{"text to image"}, Runs: "300M runs", Described: true},
		{ID: "minimax/speech-02-hd", Title: "Speech 02 HD", Text: "Speaks a text in many voices.", Shelf: ShelfHosted, Category: "text-to-speech", Described: true},
	}
	shelves := []ShelfCount{{ShelfAll, 5}, {ShelfBuiltIn, 1}, {ShelfMachine, 1}, {ShelfConnected, 1}, {ShelfHosted, 2}}
	offered := []components.ModelGroup{{Name: "anthropic", Title: "Anthropic", Place: components.PlaceOffered, Models: []components.ModelChoice{{ID: "anthropic/claude"}}}, {Name: "xai", Title: "xAI", Place: components.PlaceOffered}}
	makers := []ProviderCard{{Name: "openai", Title: "OpenAI", Can: []string{"Chat", "Embeddings"}, Connected: true}, {Name: "vllm", Title: "vLLM", Text: "Your own server", Can: []string{"Chat"}}, {Name: "plain", Title: "Something else", Text: "A secret for headers and signatures"}}
	return map[string]templ.Component{
		"credentials":                          Credentials(in, CredentialsPage{Credentials: rows, Providers: makers, MayEdit: true, Now: viewtest.Noon}),
		"credentials-none":                     Credentials(in, CredentialsPage{Query: "nothing", MayEdit: true, Now: viewtest.Noon}),
		"credentials-viewer-empty":             Credentials(in, CredentialsPage{Now: viewtest.Noon}),
		"credentials-viewer":                   Credentials(in, CredentialsPage{Credentials: rows, Now: viewtest.Noon}),
		"credentials-empty":                    Credentials(in, CredentialsPage{Providers: makers[1:], MayEdit: true, Now: viewtest.Noon}),
		"credentials-choose":                   ChooseProvider(in, makers),
		"credentials-add":                      NewCredentialPage(in, AddCredential{Provider: "openai", Title: "OpenAI", KeysURL: "https://platform.openai.com/api-keys", Name: "openai"}),
		"credentials-errors":                   NewCredentialPage(in, AddCredential{Provider: "vllm", Title: "vLLM", OwnAddress: true, Optional: true, Name: "gpu 1", BaseURL: "gpu-1", Errors: components.Errors{"name": "Up to 64 letters, digits, _, . and -.", "base_url": "Write it like https://models.example.com/v1."}}),
		"credentials-plain":                    NewCredentialPage(in, AddCredential{Provider: "plain", Title: "something else", Plain: true, Hosts: "api.example.com"}),
		"models":                               ModelShelves(models, ModelsPage{Cards: cards, Shelves: shelves, Categories: categories, Offered: offered, MayEdit: true}),
		"models-none":                          ModelShelves(models, ModelsPage{Query: "nothing", Categories: categories, Category: "text-to-speech", Shelves: shelves[:1]}),
		"models-viewer":                        ModelShelves(models, ModelsPage{Cards: cards, Shelf: ShelfHosted, Shelves: shelves, Categories: categories, More: 3, Notes: []components.ModelGroup{{Title: "Groq", Note: "Groq refuses the credential."}}}),
		"credential":                           Credential(in, CredentialPage{Credential: openai, Now: viewtest.Noon}),
		"credential-connected":                 Credential(in, CredentialPage{Credential: CredentialRow{Name: "desk", Provider: "MCP server", Hosts: []string{"mcp.example.com"}, ChangedAt: viewtest.Noon}, Now: viewtest.Noon, Connection: &components.Connection{Connected: true, Issuer: "https://auth.example.com", By: "Ada", At: viewtest.Noon, Account: "support@northwind.com", Scope: "read write"}}),
		"credential-connected-without-account": Credential(in, CredentialPage{Credential: CredentialRow{Name: "desk", Provider: "MCP server", Hosts: []string{"mcp.example.com"}, ChangedAt: viewtest.Noon}, Now: viewtest.Noon, Connection: &components.Connection{Connected: true, Issuer: "https://auth.example.com", By: "Ada", At: viewtest.Noon, Scope: "read write"}}),
		"credential-reconnect":                 Credential(in, CredentialPage{Credential: CredentialRow{Name: "desk", Provider: "MCP server", Hosts: []string{"mcp.example.com"}, ChangedAt: viewtest.Noon}, Now: viewtest.Noon, Connection: &components.Connection{Connected: true, Issuer: "https://auth.example.com", By: "Ada", At: viewtest.Noon, Dead: "The service does not renew it."}}),
		"credential-connect":                   Connect(in, connecting),
		"credential-continue":                  Connect(in, continuing),
		"credential-errors":                    Credential(in, CredentialPage{Credential: openai, Now: viewtest.Noon, Errors: components.Errors{"sure": "Tick the box to remove it anyway.", "secret": "Paste the secret here."}}),
		"model":                                HostedModel(models, ModelPage{ID: "black-forest-labs/flux-schnell", Title: "FLUX schnell", Text: "Makes pictures of descriptions, quickly.", Version: "c846a69991da…", MayEdit: true, Inputs: []ModelInput{{Name: "prompt", Type: "area", Help: "What the picture shows.", Required: true}, {Name: "num_outputs", Type: "integer, 1 to 4", Default: "1", Help: "How many pictures."}}, Outputs: []ModelOutput{{"output", "list"}}}),
		"model-without-access":                 HostedModel(models, ModelPage{ID: "google/imagen-4", Title: "Imagen 4", Text: "Makes pictures.", Why: "Replicate needs a credential. Add one under Credentials.", MayEdit: true}),
	}
}

// connecting asks whether the addresses of a server are right; continuing leads to the service.
var (
	connecting = ConnectPage{Name: "desk", URL: "https://mcp.example.com/mcp", Issuer: "https://auth.example.com", Authorize: "https://auth.example.com/oauth/authorize", Token: "https://auth.example.com/oauth/token",
		Hosts: "auth.example.com", Digest: "0123", Redirect: "https://flows.example.com/oauth/callback", NeedsPassword: true, Errors: components.Errors{"client_id": "Enter the client ID that the service gave you."}}
	continuing = ConnectPage{Name: "desk", URL: "https://mcp.example.com/mcp", Issuer: "https://auth.example.com", Authorize: "https://auth.example.com/oauth/authorize", Token: "https://auth.example.com/oauth/token",
		Register: "https://auth.example.com/oauth/register", Hosts: "auth.example.com", Digest: "0123", Continue: "https://auth.example.com/oauth/authorize?client_id=x"}
)
