// Package mcpclient calls tools of servers of the Model Context Protocol over streamable HTTP. It owns
// the connection: what is sent, how long and how large answers may be, and whether a request whose
// answer is missing was sent. It must not know runs, agents or the store.
package mcpclient
