// The field for a message, with the pictures that are attached to it.
import { el } from "../builder/dom.ts";
import { icon } from "../icon.ts";
import { onClick } from "../listen.ts";
import { say } from "../say.ts";
import { toast } from "../toasts.ts";

export class Composer {
  readonly field: HTMLTextAreaElement;
  private readonly files: HTMLUListElement | null;
  private readonly input: HTMLInputElement | null;
  private pictures: File[] = [];

  /** room returns how many pictures the conversation can still take; mostFile is the size limit of a file in bytes. */
  constructor(private readonly form: HTMLFormElement, private readonly mostFile: number, private readonly room: () => number) {
    this.field = form.querySelector<HTMLTextAreaElement>("#message") as HTMLTextAreaElement;
    this.field.removeAttribute("name"); // it is sent with the conversation
    this.files = form.querySelector(".chat-files");
    this.input = form.querySelector("#picture");
    this.field.addEventListener("input", () => this.fit());
    this.field.addEventListener("keydown", (e) => this.enter(e));
    if (this.input) this.attachable(this.input);
    this.fit();
  }

  /** attachable accepts pictures from the file dialog, the clipboard and drag and drop. */
  private attachable(input: HTMLInputElement): void {
    input.removeAttribute("name");
    input.multiple = true;
    const take = () => (this.attach([...(input.files ?? [])]), (input.value = ""));
    input.addEventListener("change", take);
    if (input.files?.length) queueMicrotask(take); // chosen before this script was loaded
    this.field.addEventListener("paste", (e) => {
      const files = [...(e.clipboardData?.files ?? [])];
      if (files.length) e.preventDefault(), this.attach(files);
    });
    document.addEventListener("dragover", (e) => e.preventDefault());
    document.addEventListener("drop", (e) => (e.preventDefault(), this.attach([...(e.dataTransfer?.files ?? [])])));
    if (this.files) onClick(this.files, "button", (button) => this.remove(Number(button.dataset.place)));
  }

  private attach(files: File[]): void {
    for (const file of files) {
      if (!this.accepts(file)) toast(`${file.name} is not accepted here.`, "bad");
      else if (file.size > this.mostFile) toast(`${file.name} is too large. The limit is ${Math.round(this.mostFile / 1048576)} MiB.`, "bad");
      else if (this.room() - this.pictures.length < 1) toast("This conversation can't take more pictures. Start a new chat.", "bad");
      else this.pictures.push(file);
    }
    this.list();
    this.field.focus();
  }

  private accepts(file: File): boolean {
    const types = (this.input?.accept ?? "").split(",").filter(Boolean);
    return types.length === 0 || types.some((t) => t === file.type || t === "*/*" || (t.endsWith("/*") && file.type.startsWith(t.slice(0, -1))) || (t.startsWith(".") && file.name.toLowerCase().endsWith(t)));
  }

  private remove(place: number): void {
    say(`Removed ${this.pictures[place]?.name ?? "picture"}`);
    this.pictures.splice(place, 1);
    this.list();
    this.field.focus();
  }

  private list(): void {
    if (!this.files) return;
    this.files.hidden = this.pictures.length === 0;
    this.files.replaceChildren(...this.pictures.map((file, i) => el("li", {}, picture(file),
      el("button", { type: "button", class: "btn only small", "data-place": String(i), "aria-label": `Remove ${file.name}`, title: "Remove" }, icon("x")))));
  }

  /** fit makes the field as high as its text. */
  private fit(): void {
    this.field.style.height = "auto";
    this.field.style.height = `${this.field.scrollHeight}px`;
  }

  /** enter submits the message on Enter. On touch screens, whose keyboards lack Shift+Enter, Enter inserts a line break. */
  private enter(e: KeyboardEvent): void {
    if (e.key !== "Enter" || e.shiftKey || e.isComposing || matchMedia("(pointer: coarse)").matches) return;
    e.preventDefault();
    this.form.requestSubmit();
  }

  /** take returns the message and clears the field. It returns undefined if there is nothing to send. */
  take(): { text: string; pictures: File[] } | undefined {
    const text = this.field.value.trim(), pictures = this.pictures;
    if (!text && pictures.length === 0) return undefined;
    this.field.value = "";
    this.pictures = [];
    this.list();
    this.fit();
    return { text, pictures };
  }
}

/** picture returns an image element for a local file. */
export function picture(file: File): HTMLImageElement {
  const image = el("img", { alt: file.name, src: URL.createObjectURL(file) });
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  return image;
}
