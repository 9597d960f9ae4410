// Package fairness decides how deliveries to different endpoints share a limited
// number of slots. Its functions are pure.
package fairness
