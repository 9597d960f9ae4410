// Package webhooks stores webhook deliveries: the queue of those that are due,
// their attempts, the endpoints they were sent to and the secrets that sign them.
// It sends nothing.
//
// A delivery is added in the transaction of the run that causes it (package core).
// When it is due it joins the queue of its endpoint, and gets a job when it gets a
// slot (deliveries_queue.go). The worker loads it and records the attempt
// (deliveries_send.go). Package flow/fairness decides how slots are shared.
package webhooks
