// Package pages is what a person's browser gets: the dashboard and the builder.
// It owns sessions, forms, and what each page is made of; views own how it
// looks. It knows no keys and the API knows no sessions, so that neither can
// stand in for the other. Like the API it decides nothing about flows and runs,
// and knows neither SQL nor the queue: it sees both through interfaces.
package pages
