// Package builtin owns the model that lives inside the binary: the Universal Sentence Encoder Lite, a small network that
// turns English text into vectors, and what can be built on comparing them: similarity, zero-shot classification,
// extractive summaries and finding the passage that answers a question. It selects and scores text; it never writes any.
//
// It must not know flows, nodes, the network or the disk: text in, numbers or pieces of that text out. The weights are
// embedded, so that everything here works offline and without a key.
//
// The weights in model/ were quantised to int8 by the converter in convert/; see model/README.md.
package builtin
