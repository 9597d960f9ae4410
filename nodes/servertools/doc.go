// Package servertools offers and calls tools of servers of the Model Context Protocol. It owns what a node
// stores of them, and when a tool may be called. It must not know how a server is reached.
package servertools
