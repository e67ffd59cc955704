// SPDX-License-Identifier: Apache-2.0
// The ledger of a process: lines that add up to its resident set. Taken on request, since it reads every mapping.
import * as api from "./api";
import { h, replace, setText, shown } from "./dom";
import { bytes, moment, percent } from "./format";
import * as shell from "./shell";

interface Line {
  line: string;
  level: string;
  bytes: number;
  low: number;
  high: number;
}

interface Document {
  time: string;
  notice: string | null;
  complete: boolean;
  rss: number;
  lines: Line[];
}

const LEVELS: [string, string][] = [["rss", "Resident set"], ["own", "Of the process, outside its resident set"], ["group", "Its control group"]];

export class Ledger {
  readonly element: HTMLElement;
  private readonly body = h("table", { class: "memory" });
  private readonly notice = h("p", { class: "faint" });
  private readonly button: HTMLButtonElement = h("button", { onclick: () => void this.take() }, "Take the ledger");

  constructor(private readonly target: string) {
    this.element = h("div", null, h("p", null, this.button, " reads every mapping of the process once; changes nothing"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Ledger" }, this.body), this.notice);
    this.body.hidden = true;
  }

  private async take(): Promise<void> {
    this.button.setAttribute("aria-busy", "true");
    try {
      this.show(await api.json<Document>(api.targetPath(this.target, "/ledger")));
    } catch (error) {
      shell.fail(error);
    }
    this.button.removeAttribute("aria-busy");
  }

  private show(ledger: Document): void {
    const most = Math.max(1, ...ledger.lines.map((line) => Math.abs(line.bytes)));
    replace(this.body, h("thead", null, h("tr", null, h("th", { scope: "col" }, "Line"), h("th", { scope: "col", class: "number" }, "Bytes"), h("th", { scope: "col", class: "number" }, "of RSS"),
      h("th", { scope: "col", class: "number" }, "Between"), h("td"))), ...LEVELS.map(([level, title]) => this.part(title, ledger.lines.filter((line) => line.level === level && line.bytes !== 0), ledger.rss, most)));
    this.body.hidden = false;
    setText(this.notice, [`Taken ${moment(Date.parse(ledger.time) / 1000)}, RSS ${bytes(ledger.rss)}.`, ledger.complete ? "" : "Some lines could not be read.", shown(ledger.notice ?? "")].filter((text) => text !== "").join(" "));
    shell.say("The ledger has been taken.");
  }

  private part(title: string, lines: Line[], rss: number, most: number): HTMLElement {
    return h("tbody", null, lines.length > 0 && h("tr", null, h("th", { scope: "rowgroup", colspan: 5, class: "group" }, title)), ...lines.map((line) => {
      const fill = h("span", { class: "fill" });
      fill.style.width = `${Math.abs(line.bytes) / most * 100}%`;
      return h("tr", null, h("th", { scope: "row" }, shown(line.line.replace(/^group-/, "").replace(/-/g, " "))), h("td", { class: "number" }, bytes(line.bytes)), h("td", { class: "number faint" }, line.level === "rss" && rss > 0 ? percent(line.bytes / rss) : ""),
        h("td", { class: "number faint" }, line.low === line.high ? "" : `${bytes(line.low)} to ${bytes(line.high)}`), h("td", { class: "barcell", "aria-hidden": "true" }, h("span", { class: "track" }, fill)));
    }));
  }
}
