package flow

import "time"

// DeliveryQuery selects the deliveries of a list. Empty fields do not filter.
type DeliveryQuery struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	EndpointID  string
	Host        string // with its port, if it has one
	URL         string // prefix of the URL; requires Host
	States      []DeliveryState
	From, Until time.Time // created at From or later and before Until; in milliseconds

	// Before continues with deliveries older than this position, After with newer ones.
	Before, After string
	Limit         int
}

// DeliveryRow is a delivery in a list, without its body and responses.
type DeliveryRow struct {
	ID                    string
	FlowID                FlowID
	RunID                 RunID
	Node, EndpointID, URL string
	Position              string // as of Delivery
	State                 DeliveryState
	Tries                 int64 // attempts over all series
	CreatedAt             time.Time
	NextAt                time.Time // zero once ended
	EndedAt               time.Time
	Erased                Code
	// Last is the newest attempt without its response; nil before the first.
	Last *DeliveryAttempt
}

// DeliveryPage is a page of a list, newest first.
type DeliveryPage struct {
	Rows []DeliveryRow
	// Older and Newer are the positions at which the adjacent pages begin;
	// empty at the ends of the list.
	Older, Newer string
	// Looked is the number of deliveries that were compared with the URL. More reports
	// whether others were not compared.
	Looked int
	More   bool
}

// FailedQuery selects failed deliveries to be sent again.
type FailedQuery struct {
	WorkspaceID WorkspaceID
	FlowID      FlowID
	EndpointID  string    // one of them, or neither for the whole workspace
	Since       time.Time // created then or later; zero for all
	// Asked is when the user saw the count. Deliveries that failed later are not selected, so
	// that a repeated request sends nothing twice.
	Asked time.Time
}
