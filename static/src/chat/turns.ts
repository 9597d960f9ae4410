// The conversation of a chat, which lives in this browser.
import { loadJSON, store } from "../canvas/storage.ts";

/** Turn is a message. Its pictures are lost when the page is reloaded. */
export type Turn = {
  role: "user" | "assistant";
  text: string;
  pictures?: File[];
  lost?: number; // number of pictures that a reload discarded
  signature?: string; // of a complete reply
  html?: string; // a reply that is not text or has footnotes, rendered by the server
  run?: string; // path of the run that is in progress or failed
  output?: string; // the output port whose text is the reply
  trouble?: string;
  stopped?: boolean;
};

export type Sent = { role: string; text: string; signature?: string; pictures?: number[] };

const key = (flow: string) => `chat:${flow}`;

/** saved returns the conversation that this browser stored, or an empty list. */
export function saved(flow: string): Turn[] {
  const list = loadJSON<Turn[]>("localStorage", key(flow));
  return Array.isArray(list) ? list : [];
}

/** save stores a conversation in this browser, without its pictures and replies whose links expire; those with footnotes stay. */
export function save(flow: string, turns: Turn[]): void {
  const list = turns.map(({ pictures, html, ...turn }) => ({ ...turn, ...(html?.startsWith('<div class="prose cited">') && { html }), lost: (turn.lost ?? 0) + (pictures?.length ?? 0) || undefined }));
  store("localStorage", key(flow), list.length ? JSON.stringify(list) : "");
}

/**
 * sent returns the turns to send to the server, and their pictures in order. Replies that
 * were stopped or failed have no signature and are left out.
 */
export function sent(turns: Turn[]): { turns: Sent[]; pictures: File[] } {
  const pictures: File[] = [], list: Sent[] = [];
  for (const turn of turns) {
    if (turn.role === "assistant") {
      if (turn.signature) list.push({ role: "assistant", text: turn.text, signature: turn.signature });
      continue;
    }
    const places = (turn.pictures ?? []).map((file) => pictures.push(file) - 1);
    list.push({ role: "user", text: turn.text, ...(places.length ? { pictures: places } : {}) });
  }
  return { turns: list, pictures };
}

/** lastRun returns the ticket of the run of the last complete reply, which the next run continues. */
export function lastRun(turns: Turn[]): string {
  return turns.findLast((turn) => turn.role === "assistant" && turn.signature)?.run?.split("/").at(-1) ?? "";
}
