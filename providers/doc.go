// Package providers reaches AI models of other makers: chat, embeddings,
// images, speech and transcription, over the wire formats of OpenAI and
// Anthropic, which nearly everybody speaks. It owns the presets, what each
// provider can do, the search for model servers on this machine, and the
// wording of what went wrong. It knows nothing of flows, runs or credentials:
// callers provide the secret.
package providers
