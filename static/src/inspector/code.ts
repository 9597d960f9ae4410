// The editor for JSON and templates, loaded when such a field gets the focus. The
// form and the draft still read the control under it.
import { autocompletion, closeBrackets, completionKeymap, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json, jsonParseLinter } from "@codemirror/lang-json";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { linter } from "@codemirror/lint";
import { EditorState, type Extension } from "@codemirror/state";
import { Decoration, drawSelection, EditorView, keymap, MatchDecorator, placeholder, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { span } from "../canvas/merge.ts";
import { flowPath } from "../builder/canvas.ts";
import { ask } from "./ask.ts";
import { commitWith, fieldOf, section, titleOf } from "./fields.ts";

type Under = HTMLTextAreaElement | HTMLInputElement;
const views = new WeakMap<Under, EditorView>();

/** edit shows the editor instead of a control, with the same selection. */
export async function edit(under: Under): Promise<void> {
  const script = under.dataset.code === "javascript" ? await import("./javascript.ts") : undefined;
  const known = views.get(under);
  if (known?.dom.isConnected) {
    copyTo(known, under.value); // typed into the control, such as after a click on its label
    return known.focus();
  }
  const { selectionStart, selectionEnd } = under, doc = under.value || (script ? under.placeholder : ""), at = Math.min(selectionStart ?? doc.length, doc.length);
  const view = new EditorView({ state: EditorState.create({ doc, selection: { anchor: at, head: Math.min(selectionEnd ?? at, doc.length) }, extensions: extensions(under, script) }) });
  views.set(under, view);
  const focused = document.activeElement === under;
  under.classList.add("ins-under");
  under.tabIndex = -1;
  under.after(view.dom);
  if (focused) view.focus();
}

/** extensions returns the extensions of the editor of a control. Tab leaves it, so that the keyboard is not trapped (WCAG 2.1.2). The nonce permits CodeMirror's style element under the content security policy. */
function extensions(under: Under, script?: typeof import("./javascript.ts")): Extension[] {
  const isJSON = fieldOf(under)?.dataset.value === "json" || under.closest<HTMLElement>("[data-instead-of]")?.dataset.value === "json";
  const nonce = document.body.dataset.nonce;
  return [
    nonce ? EditorView.cspNonce.of(nonce) : [],
    look, history(), drawSelection(), EditorView.lineWrapping, bracketMatching(), places, syntaxHighlighting(classHighlighter),
    placeholder(under.placeholder), labelled(under), EditorView.updateListener.of((u) => changed(under, u)),
    isJSON ? [json(), closeBrackets(), linter(jsonErrors, { delay: 400 })] : [],
    under instanceof HTMLInputElement ? oneLine : [],
    script ? [script.script, closeBrackets(), keymap.of([{ key: "Mod-Shift-Enter", run: script.tryNow }])] : [],
    autocompletion({ override: [script?.complete ?? complete(under)], icons: false }),
    keymap.of([...completionKeymap, ...defaultKeymap.filter((k) => k.key !== "Escape" && k.key !== "Mod-Enter"), ...historyKeymap]), // Tab leaves the field, Ctrl+Enter runs the flow
    EditorState.readOnly.of(under.readOnly),
  ];
}

/** look styles the editor like other fields. The library adds its styles at run time, which would override a style sheet. */
const look = EditorView.theme({
  "&": { border: "1px solid var(--line-strong)", borderRadius: "var(--r-2)", background: "var(--surface)", fontSize: "var(--t-12)", maxHeight: "60vh", minWidth: "0" },
  "&:hover": { borderColor: "var(--field)" },
  "&.cm-focused": { outline: "2px solid color-mix(in oklab, var(--accent) 32%, transparent)", borderColor: "var(--accent)" },
  "[data-unread] > &": { borderColor: "var(--bad)" },
  "[data-fed] > &": { background: "var(--sunken)", borderStyle: "dashed", color: "var(--ink-3)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  "textarea + & .cm-content": { minHeight: "74px" },
  ".tok-keyword, .tok-operatorKeyword": { color: "var(--g-model)" },
  ".tok-comment": { color: "var(--ink-3)" },
  ".cm-lintRange-error": { textDecoration: "underline wavy var(--bad) 1px", backgroundImage: "none" },
  ".cm-lintRange-warning": { textDecoration: "underline wavy var(--wait) 1px", backgroundImage: "none" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--wait)" },
  ".cm-content": { padding: "6px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 10px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground": { background: "color-mix(in oklab, var(--accent) 22%, transparent)" },
  "&.cm-focused .cm-matchingBracket": { background: "var(--accent-soft)" },
  ".cm-placeholder": { color: "var(--ink-3)" },
  ".cm-place": { borderRadius: "3px", background: "var(--accent-soft)", color: "var(--accent)" },
  ".tok-string": { color: "var(--ok)" },
  ".tok-number": { color: "var(--run)" },
  ".tok-bool, .tok-null, .tok-keyword": { color: "var(--g-model)" },
  ".tok-propertyName": { color: "var(--accent)" },
  ".cm-tooltip": { border: "1px solid var(--line)", borderRadius: "var(--r-2)", background: "var(--raised)", color: "var(--ink)", boxShadow: "var(--shadow-high)", overflow: "hidden", zIndex: "30" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { maxHeight: "264px", minWidth: "220px", fontFamily: "var(--mono)", fontSize: "var(--t-12)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { display: "flex", alignItems: "center", minHeight: "28px", padding: "3px 10px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--accent-soft)", color: "var(--ink)" },
  ".cm-completionDetail": { marginLeft: "auto", paddingLeft: "16px", color: "var(--ink-3)", fontFamily: "var(--sans)", fontStyle: "normal" },
  ".cm-completionMatchedText": { color: "var(--accent)", textDecoration: "none", fontWeight: "600" },
  ".cm-tooltip.cm-completionInfo": { padding: "8px 10px", maxWidth: "240px", fontSize: "var(--t-12)", color: "var(--ink-2)" },
  ".cm-diagnostic": { padding: "4px 8px", borderLeft: "3px solid var(--bad)", fontSize: "var(--t-12)" },
});

/** jsonErrors reports errors, but not for an empty field. */
const jsonErrors = (view: EditorView) => (view.state.doc.toString().trim() ? jsonParseLinter()(view) : []);

/** oneLine refuses line breaks; pasted ones become spaces. */
const oneLine: Extension = [
  EditorState.transactionFilter.of((tr) => (tr.newDoc.lines > 1 ? [] : tr)),
  EditorView.clipboardInputFilter.of((text) => text.replace(/\s*\n\s*/g, " ").trim()),
];

/** labelled gives the editor the label and the description of the control. */
function labelled(under: Under): Extension {
  const label = under.labels?.[0]?.textContent?.trim() ?? "Code", about = under.getAttribute("aria-describedby");
  return EditorView.contentAttributes.of({ "aria-label": label, ...(about ? { "aria-describedby": about } : {}) });
}

/** changed copies each edit to the control, as an input event of it. */
function changed(under: Under, u: ViewUpdate): void {
  if (!u.docChanged) return;
  under.value = u.state.doc.toString();
  under.dispatchEvent(new Event("input", { bubbles: true }));
}

// Copies changes of the control by undo or another user into the editor.
document.addEventListener("ins:wrote", (e) => {
  for (const under of (e.target as Element).querySelectorAll<Under>(".ins-under")) {
    const view = views.get(under);
    if (view) copyTo(view, under.value);
  }
});

/** copyTo changes the text of an editor where it differs. */
function copyTo(view: EditorView, value: string): void {
  const text = view.state.doc.toString();
  if (text === value) return;
  const { from, to, text: insert } = span(text, value);
  view.dispatch({ changes: { from, to, insert } });
}

// Highlights {{names}}.

const place = new MatchDecorator({ regexp: /\{\{\s*[A-Za-z_][\w.-]*\s*\}\}/g, decoration: Decoration.mark({ class: "cm-place" }) });
const places = ViewPlugin.fromClass(class {
  decorations: DecorationSet;
  constructor(view: EditorView) { this.decorations = place.createDeco(view); }
  update(u: ViewUpdate): void { this.decorations = place.updateDeco(u, this.decorations); }
}, { decorations: (v) => v.decorations });

// Completes names between {{ and }}.

type Offer = { name: string; from: string; to?: string; title: string; type: string; example?: string };

async function offers(): Promise<Offer[]> {
  const r = await ask(`${flowPath}/completions?node=${encodeURIComponent(section()!.dataset.node!)}`);
  return r?.ok ? ((await r.json()) as { completions: Offer[] }).completions : [];
}

/** complete offers names after "{{" and closes the braces. The names depend on the draft, so they are requested each time. */
function complete(under: Under) {
  return async (context: CompletionContext): Promise<CompletionResult | null> => {
    const open = context.matchBefore(/\{\{\s*[\w-]*/);
    if (!open || !under.matches("[data-template]")) return null;
    const options = (await offers()).map((o): Completion => ({
      label: o.name, detail: `${o.type} · ${o.title}`, info: o.example ? `Example: ${o.example}` : undefined, boost: o.to ? 0 : 1,
      apply: (view, _, from, to) => put(view, under, o, from, to),
    }));
    return { from: open.from + open.text.length - /[\w-]*$/.exec(open.text)![0].length, options, validFor: /^[\w-]*$/ };
  };
}

/** put inserts a name and connects its source, as one step of the history. */
function put(view: EditorView, under: Under, o: Offer, from: number, to: number): void {
  const rest = /^\s*\}\}/.exec(view.state.sliceDoc(to, to + 8)), insert = `${o.name}}}`, end = to + (rest?.[0].length ?? 0);
  view.dispatch({ changes: { from, to: end, insert }, selection: { anchor: from + insert.length }, userEvent: "input.complete" });
  const field = fieldOf(under)!;
  commitWith(field, `Use ${o.name} in ${titleOf(field)}`, o.to ? [{ op: "connect", edge: { from: o.from, to: o.to } }] : []);
}
