// JavaScript in the code editor: highlighting, completion of ports, and diagnostics for
// code that would fail at run time. It is loaded with the first Code node that is edited.
import { completeFromList, snippetCompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { javascript, localCompletionSource, scopeCompletionSource } from "@codemirror/lang-javascript";
import { forceParsing, indentOnInput, syntaxTree } from "@codemirror/language";
import { linter, type Diagnostic } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { SyntaxNode } from "@lezer/common";
import { pane, section } from "./fields.ts";
import { rows, part } from "./values.ts";

/** names returns the declared inputs or outputs from the list field beside the code. */
const names = (field: string): string[] => {
  const list = pane.querySelector(`[data-set="${field}"]`);
  return list ? rows(list).map((row) => part(row, "text")?.value.trim() ?? "").filter((name) => name !== "") : [];
};
const inputs = (): string[] => names("inputs"), outputs = (): string[] => names("outputs");
const isName = (text: string): boolean => /^[A-Za-z_$][\w$]*$/.test(text);

/** Entry is the function that the code exports; value is what an arrow function without a block returns. */
type Entry = { params?: SyntaxNode; body?: SyntaxNode; value?: SyntaxNode; node: SyntaxNode };

/** entry returns the default export if it is a function literal or declaration. */
function entry(state: EditorState): Entry | undefined {
  for (let node = syntaxTree(state).topNode.firstChild; node; node = node.nextSibling) {
    if (node.name !== "ExportDeclaration" || !node.getChild("default")) continue;
    const made = node.getChild("FunctionDeclaration") ?? node.getChild("FunctionExpression") ?? node.getChild("ArrowFunction");
    if (!made) return undefined;
    return { node: made, params: made.getChild("ParamList") ?? undefined, body: made.getChild("Block") ?? undefined, value: made.getChild("ParenthesizedExpression")?.getChild("ObjectExpression") ?? undefined };
  }
  return undefined;
}

/** first returns the first parameter: its name, or the object pattern that destructures it. */
function first(state: EditorState, e: Entry): { name?: string; pattern?: SyntaxNode } {
  const name = e.params?.getChild("VariableDefinition"), pattern = e.params?.getChild("ObjectPattern");
  if (pattern && (!name || pattern.from < name.from)) return { pattern };
  return { name: name ? state.sliceDoc(name.from, name.to) : undefined };
}

// Marks.

/** marks lists syntax errors, inputs and outputs that are not declared, and a function that returns nothing. */
export function marks(view: EditorView): Diagnostic[] {
  // The editor parses in slices of some milliseconds. On a busy machine the tree may end before the text does, and
  // nothing would look at the rest before the next change.
  forceParsing(view, view.state.doc.length, 200);
  const { state } = view, found: Diagnostic[] = [];
  const mark = (node: { from: number; to: number }, message: string, severity: Diagnostic["severity"] = "error") => {
    const end = Math.min(Math.max(node.to, node.from + 1), state.doc.length);
    found.push({ from: Math.min(node.from, end), to: end, severity, message });
  };
  syntaxTree(state).iterate({ enter: (node) => { if (node.type.isError && found.length < 10) mark(node, "Syntax error."); } });
  if (found.length) return found;
  const e = entry(state);
  if (!e) {
    if (!/\bexport\b[^;]*\bdefault\b/.test(state.doc.toString())) mark({ from: 0, to: state.doc.line(1).to }, "The code exports no function. Begin it with export default function (inputs) {");
    return found;
  }
  unknownInputs(state, e, mark);
  if (e.value) unknownOutputs(state, e.value, mark);
  if (e.body) returns(state, e, e.body, mark);
  return found;
}

type Mark = (node: { from: number; to: number }, message: string, severity?: Diagnostic["severity"]) => void;

function unknownInputs(state: EditorState, e: Entry, mark: Mark): void {
  const known = inputs(), text = (n: SyntaxNode) => state.sliceDoc(n.from, n.to), { name, pattern } = first(state, e);
  const check = (node: SyntaxNode) => {
    const input = text(node);
    if (!known.includes(input)) mark(node, `“${input}” is not under Inputs${known.length ? `, which are ${known.join(", ")}` : ""}.`, "warning");
  };
  for (const property of pattern?.getChildren("PatternProperty") ?? []) {
    const key = property.getChild("PropertyName") ?? property.getChild("VariableDefinition"); // { key: name } or { key }
    if (key) check(key);
  }
  if (!name) return;
  e.node.cursor().iterate((node) => {
    if (node.name !== "MemberExpression") return;
    const object = node.node.firstChild, property = node.node.getChild("PropertyName");
    if (object?.name === "VariableName" && property && text(object) === name) check(property);
  });
}

/** unknownOutputs marks properties of a returned object that are not declared outputs. */
function unknownOutputs(state: EditorState, value: SyntaxNode, mark: Mark): void {
  const declared = outputs();
  if (!declared.length) return;
  for (const property of value.getChildren("Property")) {
    const key = property.getChild("PropertyDefinition"), output = key && state.sliceDoc(key.from, key.to);
    if (key && output && !declared.includes(output)) mark(key, `“${output}” is not under Outputs, which are ${declared.join(", ")}.`);
  }
}

/** returns marks a function that returns no value, and checks each returned object with unknownOutputs. */
function returns(state: EditorState, e: Entry, body: SyntaxNode, mark: Mark): void {
  let some = false;
  body.cursor().iterate((node) => {
    if (/^(Function|ArrowFunction|MethodDeclaration|ClassDeclaration|ClassExpression)/.test(node.name) && node.from > body.from) return false;
    if (node.name === "ThrowStatement") some = true;
    if (node.name !== "ReturnStatement") return;
    const value = node.node.firstChild?.nextSibling;
    some ||= !!value && value.name !== ";";
    if (value?.name === "ObjectExpression") unknownOutputs(state, value, mark);
  });
  if (!some) mark({ from: e.node.from, to: Math.min(e.node.to, state.doc.lineAt(e.node.from).to) }, "The function returns nothing. End it with return and a value.", "warning");
}

// Completion.

const tools = scopeCompletionSource({ JSON, Math, Object, Array, String, Number, console: { log: null, info: null, warn: null, error: null, debug: null } });
const globals = completeFromList([
  ...["JSON", "Math", "Object", "Array", "String", "Number", "Boolean", "Date", "Map", "Set", "RegExp", "Promise", "console", "parseInt", "parseFloat"].map((label): Completion => ({ label, type: "variable" })),
  snippetCompletion("for (const ${item} of ${list}) {\n  ${}\n}", { label: "for", detail: "each item", type: "keyword" }),
  snippetCompletion("if (${condition}) {\n  ${}\n}", { label: "if", type: "keyword" }),
  ...["const", "let", "return", "await", "async", "function", "throw", "new", "typeof"].map((label): Completion => ({ label, type: "keyword" })),
]);

/** ports completes inputs behind the parameter and in its pattern, and outputs in a returned object. */
function ports(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/[\w$]*$/)!, e = entry(context.state), at = syntaxTree(context.state).resolveInner(context.pos, -1);
  if (!e) return null;
  const offer = (list: string[], detail: string): CompletionResult => ({ from: word.from, options: list.filter(isName).map((label): Completion => ({ label, detail, type: "property", boost: 99 })), validFor: /^[\w$]*$/ });
  const { name, pattern } = first(context.state, e);
  if (pattern && at.from >= pattern.from && context.pos > pattern.from && context.pos < pattern.to) return offer(inputs(), "input");
  if (name && context.state.sliceDoc(Math.max(0, word.from - name.length - 1), word.from) === `${name}.`) return offer(inputs(), "input");
  for (let node: SyntaxNode | null = at; node && node.from > e.node.from; node = node.parent)
    if (node.name === "ObjectExpression" && (node.parent?.name === "ReturnStatement" || node.from === e.value?.from) && /[{,]\s*[\w$]*$/.test(context.state.sliceDoc(node.from, context.pos))) return offer(outputs(), "output");
  return null;
}

/** complete is the completion source; ports come before general JavaScript names. */
export async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const own = ports(context);
  if (own) return own;
  if (context.matchBefore(/\.[\w$]*$/)) return tools(context);
  if (!context.explicit && !context.matchBefore(/[\w$]+$/)) return null;
  const local = localCompletionSource(context), common = await globals(context);
  if (!local || !common) return local ?? common;
  return { ...common, from: local.from, options: [...local.options.map((o) => ({ ...o, boost: 1 })), ...common.options] };
}

/** script lists the extensions of the JavaScript editor. Indentation has the keys of other code editors, but Tab leaves the field. */
export const script: Extension = [javascript(), indentOnInput(), EditorState.tabSize.of(2), linter(marks, { delay: 300 })];

/** tryNow presses the button under the code. */
export function tryNow(): boolean {
  section()?.querySelector<HTMLElement>("[data-try]")?.click();
  return true;
}
