// The API of a flow, on its page. In the builder draft.ts comes to it.
import "./keys.ts";
import "./calls.ts";
