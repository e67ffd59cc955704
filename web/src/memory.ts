// SPDX-License-Identifier: Apache-2.0
// The memory of a process, broken down from its resident set.
import type { Sample } from "./documents";
import { h, replace, setText } from "./dom";
import { ago, bytes, percent } from "./format";

type Figure = Exclude<keyof Sample, "time">;

const lines: { figure: Figure; depth: number; title: string; about: string }[] = [
  { figure: "rss", depth: 0, title: "Resident set (RSS)", about: "what the kernel counts for the process" },
  { figure: "anonymous", depth: 1, title: "anonymous", about: "without mapped files and program text" },
  { figure: "resident", depth: 2, title: "jemalloc: resident", about: "pages in use by jemalloc's own count, with those that were never touched" },
  { figure: "active", depth: 3, title: "active", about: "pages with allocations in them; the rest of resident waits for decay or is metadata" },
  { figure: "allocated", depth: 4, title: "allocated", about: "bytes of allocations, with thread caches" },
  { figure: "held", depth: 5, title: "held", about: "what the program holds, without thread caches and what sampling adds" },
  { figure: "metadata", depth: 3, title: "metadata", about: "jemalloc's own book-keeping" },
  { figure: "outside", depth: 2, title: "outside jemalloc", about: "anonymous memory of other allocators, mmap and stacks" },
  { figure: "retained", depth: 0, title: "Retained", about: "address space given back to the kernel; costs no memory" },
];

export class Memory {
  readonly element: HTMLElement;
  private readonly rows = lines.map((line) => {
    const bar = h("span", { class: "fill" });
    const value = h("td", { class: "number" });
    const share = h("td", { class: "number faint" });
    const title = h("th", { scope: "row" }, line.title);
    title.style.paddingLeft = `${line.depth}em`;
    return { line, bar, value, share, element: h("tr", null, title, value, share, h("td", { class: "barcell", "aria-hidden": "true" }, h("span", { class: "track" }, bar)),
      h("td", { class: "faint wordy" }, line.about)) };
  });
  private readonly when = h("p", { class: "faint" });

  constructor() {
    this.element = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Memory" }, h("table", { class: "memory" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Memory"),
      h("th", { scope: "col", class: "number" }, "Bytes"), h("th", { scope: "col", class: "number" }, "of RSS"), h("td"), h("th", { scope: "col" }, "What it is"))),
    h("tbody", null, ...this.rows.map((row) => row.element))), this.when);
  }

  set(sample: Sample | null): void {
    if (sample === null) {
      replace(this.when, "No sample has been taken yet.");
      return;
    }
    const most = Math.max(1, ...lines.map((line) => sample[line.figure] ?? 0));
    for (const row of this.rows) {
      const value = sample[row.line.figure];
      row.element.hidden = value === null;
      setText(row.value, value === null ? "" : bytes(value));
      row.value.title = value === null ? "" : `${value} bytes`;
      setText(row.share, value === null || !sample.rss || row.line.figure === "retained" ? "" : percent(value / sample.rss));
      row.bar.style.width = `${(value ?? 0) / most * 100}%`;
    }
    setText(this.when, `Sampled ${ago(sample.time)}.`);
  }
}
