package handlers

import "net/http"

// operation describes a route in the OpenAPI document.
type operation struct{}

var (
	docLive, docReady, docAPI                                        operation
	docListFlows, docShowFlow, docFlowAPI                            operation
	docStartRun, docListRuns, docShowRun, docEraseRun, docShowResult operation
	docListSteps, docStreamEvents, docCancelRun, docRerun            operation
	docListDeliveries, docRedeliver                                  operation
)

func (s *Server) apiDocument() []byte { return []byte("{}") }

func (s *Server) showAPI(c *call) error { return c.writeBody(http.StatusOK, s.api) }

func (s *Server) showFlowAPI(c *call) error { return c.writeBody(http.StatusOK, s.api) }
