// The only file that knows @xyflow/system. Its numbers are 0.0.x and it has no
// public contract for pages without a framework, so it is pinned exactly and
// what the canvas takes from it is listed here; an upgrade is read here first.
export {
  XYPanZoom, XYDrag, XYHandle, ConnectionMode, PanOnScrollMode, Position, adoptUserNodes, updateNodeInternals,
  getEdgePosition, getBezierPath, getInternalNodesBounds, getNodesInside, getViewportForBounds, panBy, pointToRendererPoint, infiniteExtent,
} from "@xyflow/system";
export type {
  Connection, ConnectionState, HandleType, InternalNodeBase, NodeBase, PanZoomInstance, Transform, Viewport as View,
} from "@xyflow/system";

/** lib is the word that begins the class names which the library looks for. */
export const lib = "sluice";
/** handleClass marks a port as one that an edge may be dragged from or to. */
export const handleClass = `${lib}-flow__handle`;
/** nodeClass marks a node, so that the middle button pans over it. */
export const nodeClass = `${lib}-flow__node`;
/** flowId is in the names of ports; a page has one canvas. */
export const flowId = "1";
