// Package prices holds the prices of chat and embedding models per token, from a dated
// list that ships with Sluice or that an operator loads. It owns the format of the list,
// how a model is found in it, and which price applies at a time. Prices that a workspace
// enters take precedence: Book asks their store first.
package prices

//go:generate go run ./generate
