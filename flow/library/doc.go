// Package library holds the use cases over the flows of a workspace: import,
// edit, publish, restore and compare, with the credentials that flows use. It
// reaches storage through interfaces.
package library
