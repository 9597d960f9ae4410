// The controls of fields that need more than the browser's own, loaded with the
// first node that is shown.
import "./help.ts";
import "./required.ts";
import "./rows.ts";
import "./conditions.ts";
import "./cases.ts";
import "./files.ts";
import "./models.ts";
import "./flows.ts";
import "./credentials.ts";
import "./try.ts";
