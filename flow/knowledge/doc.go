// Package knowledge describes knowledge bases: documents, the passages that they are cut into, how texts become words, and how
// passages are ranked for a query. It owns the format of the blocks that an index consists of, and knows nothing about
// databases, models and files.
package knowledge
