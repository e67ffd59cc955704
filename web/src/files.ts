// SPDX-License-Identifier: Apache-2.0
// Dumps of the reader: dropped on the page or chosen, uploaded for viewing, and deleted unless they are kept.
import * as api from "./api";
import { h, name, replace, setText, shown } from "./dom";
import { bytes, duration, moment } from "./format";
import * as route from "./route";
import { mayControl } from "./session";
import * as shell from "./shell";

const PATH = "/api/v1/files";
const PACK_FROM = 1 << 20; // minimum bytes of a file that is compressed before it is sent
const PACKED = [[0x1f, 0x8b], [0x28, 0xb5, 0x2f, 0xfd]]; // gzip, zstd

// Missing in the TypeScript of Debian 12.
declare const CompressionStream: (new (format: "gzip") => ReadableWritablePair<Uint8Array, Uint8Array>) | undefined;

interface SentFile {
  id: string;
  name: string;
  bytes: number;
  sent: number;
  kept: boolean;
  idle_seconds: number | null;
}

// Files sent since this page was opened: they can be compared with each other.
const own: SentFile[] = [];

export function path(id: string, rest = ""): string {
  return `${PATH}/${api.component(id)}${rest}`;
}

async function packed(file: File): Promise<Blob> {
  const begin = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  const isPacked = PACKED.some((magic) => magic.every((byte, index) => begin[index] === byte));
  if (isPacked || file.size < PACK_FROM || typeof CompressionStream === "undefined") {
    return file;
  }
  return new Response(file.stream().pipeThrough(new CompressionStream("gzip"))).blob();
}

async function send(file: File): Promise<SentFile> {
  const sent = await api.json<SentFile>(api.url(PATH, { name: file.name.slice(0, 120), time: Math.floor(file.lastModified / 1000) }),
    { method: "POST", body: await packed(file), headers: { "Content-Type": "application/octet-stream" } });
  own.push(sent);
  return sent;
}

/** Sends FILES and shows the latest; of two or more, the change since the one before. */
export async function look(files: File[]): Promise<void> {
  const inOrder = [...files].sort((a, b) => a.lastModified - b.lastModified || a.name.localeCompare(b.name));
  shell.tell(`Sending ${files.length === 1 ? shown(files[0].name) : `${files.length} files`}…`);
  try {
    const sent: SentFile[] = [];
    for (const file of inOrder) {
      sent.push(await send(file));
    }
    const last = sent.length - 1;
    shell.clearMessages();
    route.go({ view: "file", file: sent[last].id, base: last > 0 ? sent[last - 1].id : "" });
  } catch (error) {
    shell.fail(error);
  }
}

async function keptFiles(): Promise<SentFile[]> {
  return (await api.json<{ files: SentFile[] }>(PATH)).files;
}

/** The files that ID can be compared with. */
export async function bases(id: string): Promise<{ rows: [string, string][]; before: string | null }> {
  const kept = await keptFiles();
  const others = [...own, ...kept.filter((file) => own.every((mine) => mine.id !== file.id))].filter((file) => file.id !== id);
  return { rows: others.map((file) => [file.id, shown(file.name)]), before: others.length > 0 ? others[others.length - 1].id : null };
}

/** How long the file ID is stored, and how to change that. */
export function controls(id: string): HTMLElement {
  const text = h("span", { class: "faint" });
  const keep: HTMLButtonElement = h("button", { hidden: true }, "Keep");
  const show = (file: SentFile): void => {
    setText(text, file.idle_seconds === null ? "Kept until the server ends." : `Forgotten ${duration(file.idle_seconds)} after it was last looked at.`);
    keep.hidden = file.kept || !mayControl();
  };
  const ask = async (rest: string, method: string): Promise<void> => {
    try {
      show(await api.json<SentFile>(path(id, rest), { method }));
    } catch (error) {
      // The profile reports that it is missing.
      if (rest !== "") {
        shell.fail(error);
      }
    }
  };
  keep.addEventListener("click", () => void ask("/keep", "POST"));
  void ask("", "GET");
  return h("p", { class: "bar" }, text, keep);
}

export class FilesView implements shell.View {
  readonly title = "Files";
  readonly element: HTMLElement;
  private readonly body = h("tbody");
  private readonly table: HTMLElement;

  constructor() {
    const input: HTMLInputElement = h("input", { type: "file", multiple: true, id: "dumps", onchange: () => void look([...input.files ?? []]) });
    this.table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kept files", hidden: true }, h("table", { class: "list" },
      h("thead", null, h("tr", null, ...["File", "Sent"].map((text) => h("th", { scope: "col" }, text)), h("th", { scope: "col", class: "number" }, "Size"), h("td"))), this.body));
    this.element = h("div", null, h("h1", null, "Files"),
      h("p", null, "Drop a heap dump anywhere on this page, or choose one: of jemalloc or gperftools, plain or compressed with gzip or zstd. Two show what changed from the older to the newer one."),
      h("p", { class: "bar" }, h("label", { for: "dumps" }, "Heap dumps "), input),
      h("p", { class: "faint" }, "The server reads it in a process without rights, and forgets it unless it is kept. Functions have the names that the dump itself has: 'jescope dump --symbolize' writes them."),
      this.table);
    void this.refresh();
  }

  private async refresh(): Promise<void> {
    try {
      const kept = await keptFiles();
      this.table.hidden = kept.length === 0;
      replace(this.body, ...kept.map((file) => this.row(file)));
    } catch (error) {
      shell.fail(error);
    }
  }

  private row(file: SentFile): HTMLElement {
    const remove = h("button", { disabled: !mayControl(), "aria-label": `Forget ${shown(file.name)}`, onclick: () => void this.remove(file) }, "Forget");
    return h("tr", null, h("th", { scope: "row" }, h("a", { href: route.address({ view: "file", file: file.id }) }, name(file.name))), h("td", null, moment(file.sent)),
      h("td", { class: "number" }, bytes(file.bytes)), h("td", null, remove));
  }

  private async remove(file: SentFile): Promise<void> {
    try {
      await api.request(path(file.id), { method: "DELETE" });
    } catch (error) {
      shell.fail(error);
    }
    await this.refresh();
  }
}

/** From now on, files dropped on the page are shown. */
export function start(): void {
  const isFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") === true;
  addEventListener("dragover", (event) => {
    if (isFiles(event)) {
      event.preventDefault();
      document.body.classList.add("dropping");
    }
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && document.body.classList.remove("dropping"));
  addEventListener("drop", (event) => {
    document.body.classList.remove("dropping");
    if (isFiles(event)) {
      event.preventDefault();
      void look([...event.dataTransfer?.files ?? []]);
    }
  });
}
