package flow

import "time"

// DeliveryChoice is which deliveries a list shows. What is left empty does not
// narrow it.
type DeliveryChoice struct {
	WorkspaceID WorkspaceID
	FlowID      string
	EndpointID  string
	Host        string // with its port, if it has one
	URL         string // what the URL begins with; give its Host as well
	States      []DeliveryState
	From, Until time.Time // made at From or later, and before Until; by the millisecond

	// Before continues with deliveries older than this position, After with newer ones.
	Before, After string
	Limit         int
}

// DeliveryRow is a delivery as a list shows it, without what is large.
type DeliveryRow struct {
	ID, FlowID, RunID, Node, EndpointID, URL string
	Position                                 string // as of Delivery
	State                                    DeliveryState
	Tries                                    int64 // attempts over all series
	CreatedAt                                time.Time
	NextAt                                   time.Time // zero when ended
	EndedAt                                  time.Time
	Erased                                   Code
	// Last is the newest attempt without its response; nil before the first.
	Last *DeliveryAttempt
}

// DeliveryPage is a page of a list, newest first.
type DeliveryPage struct {
	Rows []DeliveryRow
	// Older and Newer are the positions at which the adjacent pages begin;
	// empty at the ends of the list.
	Older, Newer string
	// Looked is how many deliveries were compared with the URL, and More that
	// there are others that were not.
	Looked int
	More   bool
}

// FailedChoice is which failed deliveries are to be sent again.
type FailedChoice struct {
	WorkspaceID        WorkspaceID
	FlowID, EndpointID string    // one of them, or neither for the whole workspace
	Since              time.Time // made then or later; zero for all
	// Asked is when the person looked at how many there are. What failed later
	// is left alone, so that asking twice sends nothing twice.
	Asked time.Time
}
