// Package builtin owns the models that are part of the binary. The Universal Sentence Encoder Lite, a small network,
// converts English text to vectors. Comparing vectors gives similarity, zero-shot classification, extractive summaries and
// the passage that answers a question. A second network, lande, detects 50 languages, and VADER, a lexicon with rules,
// scores sentiment. All of them select or score text; they do not generate any.
//
// The package must not depend on flows, nodes, the network or the disk: it takes text and returns numbers or parts of that
// text. The weights are embedded, so that everything works offline and without a key.
//
// The weights in model/ are made by the converters in convert/; see model/README.md.
package builtin
