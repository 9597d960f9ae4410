package api_test

import (
	"sluice/handlers/api"
	"sluice/handlers/mcp"
)

func init() {
	api.MountMCP = func(s *api.Server) func(topic, text string) { return mcp.New(s).OnBroadcast }
}
