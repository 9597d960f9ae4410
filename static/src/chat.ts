// The page of a chat: a public form whose flow takes a conversation. The browser stores the
// conversation and sends all of it with every message.
import "./copy.ts";
import { Composer } from "./chat/composer.ts";
import { showTurn, turnElement } from "./chat/log.ts";
import { follow, type Reply } from "./chat/stream.ts";
import { lastRun, save, saved, sent, type Turn } from "./chat/turns.ts";
import { onClick } from "./listen.ts";
import "./press.ts";
import { say } from "./say.ts";

const near = 80; // px from the end at which the log follows new text

class Chat {
  private readonly log: HTMLElement;
  private readonly form: HTMLFormElement;
  private readonly composer: Composer;
  private readonly flow: string;
  private turns: Turn[];
  private elements: HTMLElement[] = [];
  private stopFollowing?: () => void;
  private busy = ""; // the status text of the last turn; "" when it is complete
  private frame = 0;

  constructor(private readonly root: HTMLElement) {
    this.log = this.part("#chat-log");
    this.form = this.part<HTMLFormElement>("#ask");
    this.flow = root.dataset.flow ?? "";
    const most = Number(root.dataset.mostPictures);
    this.composer = new Composer(this.form, Number(root.dataset.mostFile), () => most - this.turns.reduce((n, turn) => n + (turn.pictures?.length ?? 0), 0));
    this.turns = saved(this.flow);
    for (const turn of this.turns) this.add(turn);
    this.form.addEventListener("submit", (e) => (e.preventDefault(), this.send()));
    onClick(root, "[data-stop]", () => this.stop());
    onClick(root, "[data-new]", () => this.clear());
    onClick(root, "[data-again]", () => this.again());
    onClick(root, "[data-down]", () => this.scroll(true));
    this.log.addEventListener("scroll", () => this.showDown());
    const last = this.turns.at(-1);
    if (last?.run && !last.signature && !last.trouble && !last.stopped) this.listen(last); // the page was reloaded
    this.show();
    this.scroll(true);
  }

  private part<T extends HTMLElement>(selector: string): T { return this.root.querySelector<T>(selector) as T; }

  private add(turn: Turn): void {
    const element = turnElement(turn);
    this.elements.push(element);
    this.log.append(element);
  }

  /** show updates the page to match the conversation. */
  private show(): void {
    const follows = this.isAtEnd();
    this.root.classList.toggle("begun", this.turns.length > 0);
    this.turns.forEach((turn, i) => {
      const element = this.elements[i], last = i === this.turns.length - 1;
      if (element && turn.role === "assistant") showTurn(element, turn, last ? this.busy : "", last);
    });
    this.part("[data-new]").hidden = this.turns.length === 0;
    this.part("[data-send]").hidden = this.busy !== "";
    this.part("[data-stop]").hidden = this.busy === "";
    if (follows) this.scroll(false);
    this.showDown();
  }

  private isAtEnd(): boolean { return this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < near; }
  private scroll(smooth: boolean): void { this.log.scrollTo({ top: this.log.scrollHeight, behavior: smooth && this.busy === "" ? "smooth" : "instant" }); }
  private showDown(): void { this.part("[data-down]").hidden = this.isAtEnd(); }

  /** later updates the page in the next frame. */
  private later(): void {
    this.frame ||= requestAnimationFrame(() => ((this.frame = 0), this.show()));
  }

  private send(): void {
    if (this.busy) return;
    const message = this.composer.take();
    if (!message) return this.composer.field.focus();
    this.form.querySelector(".note")?.remove();
    const turn: Turn = { role: "user", text: message.text, pictures: message.pictures };
    this.turns.push(turn);
    this.add(turn);
    void this.ask();
  }

  /** ask sends the conversation and adds the reply. */
  private async ask(): Promise<void> {
    const { turns, pictures } = sent(this.turns), reply: Turn = { role: "assistant", text: "" };
    this.turns.push(reply);
    this.add(reply);
    this.busy = "Working…";
    this.show();
    this.scroll(true);
    save(this.flow, this.turns);
    const body = new FormData(this.form);
    body.set("once", crypto.getRandomValues(new Uint32Array(4)).join("-"));
    body.set("turns", JSON.stringify(turns));
    body.set("continue", lastRun(this.turns));
    pictures.forEach((file, i) => body.set(`${this.root.dataset.name}.${i}`, file));
    let answer: { run?: string; output?: string; error?: string; fields?: Record<string, string> };
    try {
      const response = await fetch(this.form.action, { method: "POST", body, headers: { Accept: "application/json" } });
      answer = (await response.json()) as typeof answer;
    } catch {
      answer = { error: "Can't reach the server. Check your connection and try again." };
    }
    if (this.turns.at(-1) !== reply) return; // the user started a new chat
    if (answer.run) {
      reply.run = answer.run;
      reply.output = answer.output ?? "";
      save(this.flow, this.turns);
      if (reply.stopped) this.cancel(answer.run);
      else this.listen(reply);
      return;
    }
    if (Object.keys(answer.fields ?? {}).length) this.form.querySelector("details")?.setAttribute("open", "");
    this.end(reply, { state: "failed", text: "", trouble: answer.error || "This page has changed. Reload it and try again." });
  }

  /** listen streams a reply into the page. */
  private listen(reply: Turn): void {
    this.busy = "Working…";
    this.stopFollowing = follow(reply.run ?? "", reply.output ?? "", {
      text: (text, reset) => {
        reply.text = (reset ? "" : reply.text) + text;
        this.later();
      },
      state: (state) => {
        this.busy = state === "queued" ? "Queued…" : state === "waiting" ? "Waiting. This can take a while." : "Working…";
        this.later();
      },
      reply: (end) => this.end(reply, end),
      lost: () => this.end(reply, { state: "failed", text: "", trouble: "The connection was lost. Reload the page and try again." }),
    });
  }

  private end(reply: Turn, end: Reply): void {
    this.busy = "";
    if (end.state === "canceled") reply.stopped = true;
    if (end.state === "succeeded" && !end.trouble) Object.assign(reply, { text: end.text, html: end.html, signature: end.signature });
    reply.trouble = end.trouble;
    save(this.flow, this.turns);
    this.show();
    say(end.trouble ?? (reply.stopped ? "Stopped" : end.text.slice(0, 400)));
  }

  /** stop cancels the run and keeps the text received so far. */
  private stop(): void {
    const reply = this.turns.at(-1);
    if (!this.busy || !reply) return;
    this.stopFollowing?.();
    reply.stopped = true;
    if (reply.run) this.cancel(reply.run);
    this.end(reply, { state: "canceled", text: reply.text });
    this.composer.field.focus();
  }

  private cancel(run: string): void { void fetch(`${run}/cancel`, { method: "POST", redirect: "manual" }).catch(() => undefined); }

  /** again asks for another reply to the last message. */
  private again(): void {
    if (this.busy || this.turns.at(-1)?.role !== "assistant") return;
    this.turns.pop();
    this.elements.pop()?.remove();
    void this.ask();
  }

  private clear(): void {
    if (this.busy) this.stop();
    this.turns = [];
    for (const element of this.elements.splice(0)) element.remove();
    save(this.flow, this.turns);
    this.show();
    this.composer.field.focus();
    say("New chat");
  }
}

const root = document.getElementById("chat");
if (root) new Chat(root);
