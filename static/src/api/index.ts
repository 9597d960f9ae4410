// The API of a flow, on its own page. The builder adds draft.ts.
import "./keys.ts";
import "./calls.ts";
