// The only file that imports @xyflow/system. Its versions are 0.0.x and it has no
// documented API for use without a framework, so it is pinned exactly, and this
// is the list of what the canvas uses. Check it first when upgrading.
//
// The library computes geometry and handles gestures; it never renders a node.
// It finds its elements by class names and attributes, which the canvas must set:
//   - the element that is scaled has the class xyflow__viewport (frame.ts); the
//     name is hard-coded, and the zoom is read from its computed transform;
//   - a port has the classes sluice-flow__handle, source or target, connectable
//     and connectableend, and data-nodeid, data-handleid, data-handlepos and
//     data-id (scene.ts); without connectable and connectableend every drop is
//     invalid, without any error;
//   - nodrag, nopan and nowheel on an element inside stop the gestures there.
export {
  XYPanZoom, XYDrag, XYHandle, ConnectionMode, PanOnScrollMode, Position, adoptUserNodes, updateNodeInternals,
  getEdgePosition, getInternalNodesBounds, getNodesInside, getViewportForBounds, panBy, pointToRendererPoint, infiniteExtent,
} from "@xyflow/system";
export type {
  Connection, ConnectionState, HandleType, InternalNodeBase, NodeBase, PanZoomInstance, Transform, Viewport as View,
} from "@xyflow/system";

/** lib is the prefix of the class names that the library looks for. */
export const lib = "sluice";
/** handleClass marks a port that edges can be dragged from and to. */
export const handleClass = `${lib}-flow__handle`;
/** nodeClass marks a node, so that the middle button pans over it. */
export const nodeClass = `${lib}-flow__node`;
/** flowId is part of the names of ports; a page has one canvas. */
export const flowId = "1";
