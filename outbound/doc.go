// Package outbound owns the one HTTP client for every request that leaves the
// machine: HTTP nodes, webhook deliveries, AI providers and the model host.
//
// It decides which addresses may be reached, which redirects are followed and
// which headers they carry to another host, and how long a response may take
// and how large it may be. Addresses are checked at the socket, after DNS, so
// neither DNS rebinding nor a redirect can bypass the check.
//
// It must not know about flows, runs, credentials, providers or the store, and it
// imports no other package of Sluice but flow/position, which encodes text, and
// flow/inflight, which limits the memory that responses take. It does not retry,
// because only the caller knows whether its request may be sent twice;
// [Error.Retryable] reports whether a retry could succeed.
package outbound
