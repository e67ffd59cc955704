// SPDX-License-Identifier: Apache-2.0
// Why a process holds its memory: it is watched for a time that the user chooses, then findings are shown with their
// evidence.
import * as api from "./api";
import { h, name, replace, setText, shown } from "./dom";
import { bytes, duration, percent } from "./format";
import * as shell from "./shell";

interface Finding {
  cause: string;
  finding: string;
  function: string | null;
  bytes: number;
  bytes_per_second: number | null;
  bytes_per_second_low: number | null;
  bytes_per_second_high: number | null;
  hours_to_limit: number | null;
  confidence: number;
  evidence: string[];
  against: string[];
  advice: string;
  gives_back_bytes: number;
}

interface Document {
  findings: Finding[];
  healthy: boolean;
  watched_seconds: number;
  detectable_bytes_per_second: number | null;
  notes: string[];
}

const TIMES: [string, string][] = [["10", "10 s"], ["30", "30 s"], ["60", "1 min"], ["300", "5 min"]];

export class Doctor {
  readonly element: HTMLElement;
  private readonly time: HTMLSelectElement = h("select", { "aria-label": "Time to watch" }, ...TIMES.map(([seconds, text]) => h("option", { value: seconds }, text)));
  private readonly start: HTMLButtonElement = h("button", { onclick: () => void this.examine() }, "Diagnose");
  private readonly stop: HTMLButtonElement = h("button", { hidden: true, onclick: () => this.abort.abort() }, "Stop the diagnosis");
  private readonly state = h("p", { class: "faint" });
  private readonly findings = h("div");
  private abort = new AbortController();
  private ticker = 0;

  constructor(private readonly target: string) {
    this.time.value = "30";
    this.element = h("div", null, h("p", null, this.start, " watches the process for ", this.time, " and says why it holds its memory; changes nothing ", this.stop), this.state, this.findings);
  }

  private async examine(): Promise<void> {
    const seconds = Number(this.time.value);
    const end = Date.now() + seconds * 1000;
    this.abort = new AbortController();
    this.setRunning(true);
    const tell = (): void => setText(this.state, Date.now() < end ? `Watching for another ${duration(Math.ceil((end - Date.now()) / 1000))}.` : "Judging what was seen.");
    tell();
    this.ticker = window.setInterval(tell, 1000);
    try {
      this.show(await api.json<Document>(api.url(api.targetPath(this.target, "/doctor"), { for: `${seconds}s` }), { signal: this.abort.signal }));
    } catch (error) {
      setText(this.state, "");
      if (!api.isAbort(error)) {
        shell.fail(error);
      }
    }
    this.setRunning(false);
  }

  private setRunning(running: boolean): void {
    clearInterval(this.ticker);
    this.start.disabled = running;
    this.stop.hidden = !running;
  }

  private show(answer: Document): void {
    const watched = `Watched for ${duration(answer.watched_seconds)}.`;
    const least = answer.detectable_bytes_per_second === null ? "" : ` Growth of less than ${bytes(answer.detectable_bytes_per_second)} per second would not have been noticed.`;
    setText(this.state, answer.healthy ? `${watched} No cause for concern was found.${least}` : watched);
    replace(this.findings, ...answer.findings.map((finding, index) => this.finding(finding, index)),
      answer.notes.length > 0 && h("ul", { class: "notes" }, ...answer.notes.map((note) => h("li", null, shown(note)))));
    shell.say(answer.healthy ? "The diagnosis has found no cause." : `The diagnosis has found ${answer.findings.length} causes.`);
  }

  private finding(finding: Finding, index: number): HTMLElement {
    const rate = finding.bytes_per_second === null ? "" : `grows by ${bytes(finding.bytes_per_second)}/s` +
      (finding.bytes_per_second_low === null || finding.bytes_per_second_high === null ? "" : ` (${bytes(finding.bytes_per_second_low)} to ${bytes(finding.bytes_per_second_high)})`);
    const limit = finding.hours_to_limit === null ? "" : `reaches its limit in ${duration(finding.hours_to_limit * 3600)}`;
    const facts = [bytes(finding.bytes), rate, limit, `confidence ${percent(finding.confidence)}`].filter((fact) => fact !== "").join(" · ");
    const list = (title: string, lines: string[]): HTMLElement | null => lines.length === 0 ? null :
      h("div", null, h("h4", null, title), h("ul", null, ...lines.map((line) => h("li", null, shown(line)))));
    return h("article", { class: "finding" }, h("h3", null, `${index + 1}. ${shown(finding.finding)}`), h("p", { class: "facts" }, facts, finding.function === null ? null : " · ",
      finding.function === null ? null : name(finding.function)), list("Evidence", finding.evidence), list("Against it", finding.against), h("p", null, h("strong", null, "Advice: "), shown(finding.advice)));
  }

  destroy(): void {
    clearInterval(this.ticker);
    this.abort.abort();
  }
}
