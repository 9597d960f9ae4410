package bases

// Statements that must not depend on the statistics of tables.
const (
	FetchPostgres = fetchPostgres
	WordsOfBlocks = wordsOfBlocks
)
