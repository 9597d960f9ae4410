// Package providers calls AI models of external providers: chat, embeddings, images,
// speech and transcription, in the wire formats of OpenAI and Anthropic, which nearly
// all providers support. It owns the presets with the capabilities of each provider,
// the discovery of model servers on this machine, and the error messages. It knows
// nothing about flows, runs or credentials: callers provide the secret.
package providers
