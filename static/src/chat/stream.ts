// The answer of a run as it comes.

/** Reply is the end of a run. */
export type Reply = { state: string; text: string; html?: string; signature?: string; trouble?: string };

export type Listener = { text: (text: string, reset: boolean) => void; state: (state: string) => void; reply: (reply: Reply) => void; lost: () => void };

const longest = 5; // reconnects after error responses
const pause = 2000; // ms between them

/** follow reports the progress of a run until its end, and returns what stops that. */
export function follow(run: string, output: string, on: Listener): () => void {
  let source: EventSource | undefined, timer = 0, failures = 0;
  const connect = () => {
    source = new EventSource(`${run}/events`);
    source.addEventListener("text", (event) => {
      const message = JSON.parse(event.data) as { output: string; text: string; reset: boolean };
      if (message.output === output) on.text(message.text, message.reset);
    });
    source.addEventListener("run", (event) => ((failures = 0), on.state((JSON.parse(event.data) as { state: string }).state)));
    source.addEventListener("reply", (event) => (source?.close(), on.reply(JSON.parse(event.data) as Reply)));
    source.addEventListener("over", () => source?.close());
    source.addEventListener("error", () => {
      if (source?.readyState !== EventSource.CLOSED) return; // the browser connects again
      if (++failures > longest) on.lost();
      else timer = window.setTimeout(connect, pause);
    });
  };
  connect();
  return () => (window.clearTimeout(timer), source?.close());
}
