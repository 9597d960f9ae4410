// Package outbound owns the one HTTP client for every request that leaves the
// machine: HTTP nodes, webhook deliveries, AI providers and the model host.
//
// It decides which addresses may be reached, how far a redirect is followed,
// which headers cross to another host, how long an answer may take and how
// large it may be. Addresses are judged at the socket, after DNS, so neither a
// name that changes its mind nor a redirect can get around it.
//
// It must not know flows, runs, credentials, providers or the store, and it
// imports no other package of Sluice. It does not retry: a caller knows whether
// its request may be sent twice, and [Error.Retryable] reports whether trying
// again could help.
package outbound
