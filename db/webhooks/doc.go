// Package webhooks stores webhook deliveries: the queue of those that are due,
// their attempts, the endpoints they were sent to and the secrets that sign
// them. It sends nothing.
package webhooks
