// Package prices knows what chat and embedding models cost per token, from a dated
// list that ships with Sluice or that an operator loads. It owns the format of the
// list, how a model is found in it, and which price applies at a time. It does not
// know workspaces: the prices that they enter come first, which Book decides by
// asking their store.
package prices

//go:generate go run ./generate
