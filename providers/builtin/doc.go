// Package builtin owns the models that live inside the binary. The first is the Universal Sentence Encoder Lite, a small
// network that turns English text into vectors, and what can be built on comparing them: similarity, zero-shot
// classification, extractive summaries and finding the passage that answers a question. The second, lande, tells 50
// languages apart; a lexicon, VADER, tells good words from bad. They select and score text; they never write any.
//
// It must not know flows, nodes, the network or the disk: text in, numbers or pieces of that text out. The weights are
// embedded, so that everything here works offline and without a key.
//
// The weights in model/ are made by the converters in convert/; see model/README.md.
package builtin
