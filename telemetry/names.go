package telemetry

// Names of attributes and spans, from OpenTelemetry's semantic conventions for generative AI, v0.1.0. Their status is
// "Development": they may change, so they are in this file only.
const (
	operationName  = "gen_ai.operation.name"
	workflowName   = "gen_ai.workflow.name"
	providerName   = "gen_ai.provider.name"
	requestModel   = "gen_ai.request.model"
	responseModel  = "gen_ai.response.model"
	finishReasons  = "gen_ai.response.finish_reasons"
	firstChunk     = "gen_ai.response.time_to_first_chunk" // seconds
	inputTokens    = "gen_ai.usage.input_tokens"
	outputTokens   = "gen_ai.usage.output_tokens"
	cachedTokens   = "gen_ai.usage.cache_read.input_tokens"
	reasoning      = "gen_ai.usage.reasoning.output_tokens"
	errorType      = "error.type"
	invokeWorkflow = "invoke_workflow"
)

// Names of general conventions.
const (
	serviceName     = "service.name"
	serviceVersion  = "service.version"
	serviceInstance = "service.instance.id"
	httpMethod      = "http.request.method"
	httpStatus      = "http.response.status_code"
	serverAddress   = "server.address"
)

// Names of our own.
const (
	runID      = "sluice.run.id"
	runState   = "sluice.run.state"
	runTrigger = "sluice.run.trigger"
	flowID     = "sluice.flow.id"
	flowSlug   = "sluice.flow.slug"
	version    = "sluice.flow.version"
	workspace  = "sluice.workspace.id"
	costUSD    = "sluice.cost_usd"
	stepPath   = "sluice.step.path"
	stepKind   = "sluice.step.kind"
	stepState  = "sluice.step.state"
	attempt    = "sluice.attempt"
	delivery   = "sluice.delivery.id"
	input      = "sluice.input"  // JSON; only with Config.Content
	output     = "sluice.output" // JSON; only with Config.Content
)

// interrupted is the error.type of an attempt that a crash ended.
const interrupted = "interrupted"

// operations are the kinds of nodes that call a model, and what the conventions call that.
var operations = map[string]string{
	"chat": "chat", "agent_turn": "chat", "embed": "embeddings", "image": "generate_content", "speech": "generate_content", "transcribe": "generate_content", "model": "generate_content",
}

// providerNames are the providers that the conventions call otherwise than Sluice does.
var providerNames = map[string]string{
	"gemini": "gcp.gemini", "google": "gcp.gemini", "mistral": "mistral_ai", "xai": "x_ai", "azure": "azure.ai.openai", "bedrock": "aws.bedrock",
}

// CallsModel reports whether the steps of a kind call a model.
func CallsModel(kind string) bool { return operations[kind] != "" }
