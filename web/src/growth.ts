// SPDX-License-Identifier: Apache-2.0
// Growth over the kept dumps of a target: functions and stacks, each with its rate, the interval of that, and a
// verdict.
import * as api from "./api";
import { BY, FILTERS, regexField, select, VALUE_NAMES } from "./choices";
import type { Dump, Target } from "./documents";
import { h, name, replace, setText, shown, stack } from "./dom";
import { clock, count, duration, moment, quantity, signed } from "./format";
import * as live from "./live";
import * as route from "./route";
import * as shell from "./shell";
import { sparkline } from "./spark";

export const FEWEST_OF_GROWTH = 3;
const MOST = 32; // maximum number that the server compares
const REFRESH_SECONDS = 30;
const ROWS = 200;
const FRAMES = 3; // of a stack, before it is expanded
const NORMAL = 1.96; // standard errors of 95 %
const QUIET = "within error";
const VALUES = ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"];
const ASKED = ["value", "by", "focus", "ignore", "exclude", "retain", "show-from", "wrappers", "thread"];

interface Rate {
  verdict: string;
  slope: number;
  slope_error: number;
}

interface Row extends Rate {
  recent_slope: number;
  biggest_step: number;
  series: number[];
  frames: string[];
}

interface Growth {
  value: string;
  by: string;
  slope_per: "second" | "dump";
  dumps: { name: string; time: number }[];
  notes: string[];
  total: Rate & { first: number; last: number };
  functions: Row[];
  stacks: Row[];
}

/** The colour of a verdict, whose words say the same. */
function colour(verdict: string): string {
  return verdict === "shrinking" ? "shrunk" : verdict === QUIET ? "within" : "grown";
}

export class GrowthView implements shell.View {
  title = "Growth";
  readonly element: HTMLElement;
  readonly keys = [
    { key: "t", text: "functions or stacks", run: () => this.showOther() },
    { key: "/", text: "to the filter of stacks", run: () => this.filters.get("focus")?.focus() },
  ];
  private readonly id: string;
  private readonly heading = h("h1", null, "Growth");
  private readonly facts = h("p", { class: "facts" });
  private readonly notes = h("ul", { class: "notes" });
  private readonly error = h("p", { class: "message error", role: "alert", hidden: true });
  private readonly value = select("Value", VALUES.map((value) => [value, VALUE_NAMES[value]]), (value) => route.apply({ value: value === VALUES[0] ? "" : value }));
  private readonly by = select("Group by", BY, (by) => route.apply({ by: by === "function" ? "" : by }));
  private readonly quiet: HTMLInputElement = h("input", { type: "checkbox", onchange: () => route.apply({ quiet: this.quiet.checked ? "1" : "" }, "replace") });
  private readonly filters = new Map<string, HTMLInputElement>();
  private readonly sides: HTMLElement;
  private readonly rest = h("p", { class: "faint", role: "status" });
  private readonly head = h("thead");
  private readonly body = h("tbody");
  private readonly table = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "What grows", hidden: true }, h("table", { class: "list" }, this.head, this.body));
  private readonly end: () => void;
  private abort = new AbortController();
  private asked = "";
  private growth: Growth | null = null;
  private kept: Dump[] = [];

  constructor(state: route.State) {
    this.id = state.target ?? "";
    for (const [id, label, about] of FILTERS) {
      this.filters.set(id, regexField(label, about, (text) => route.apply({ [id]: text })));
    }
    this.sides = h("div", { class: "bar", role: "group", "aria-label": "Rows" }, ...["functions", "stacks"].map((side) =>
      h("button", { class: "choice", "data-side": side, onclick: () => route.apply({ show: side === "functions" ? "" : side }, "replace") }, side === "functions" ? "Functions" : "Stacks")));
    this.element = h("div", { class: "wide" }, h("nav", { class: "crumbs", "aria-label": "Target" }, h("a", { href: route.address({ view: "target", target: this.id }) }, "Target")),
      this.heading, this.facts, this.notes, h("div", { class: "bar" }, this.value, h("label", null, "by ", this.by), ...this.filters.values(),
        h("label", null, this.quiet, " what sampling explains too"), h("button", { onclick: () => route.go({ view: "growth", target: this.id }) }, "Reset")),
      this.error, this.sides, this.table, this.rest);
    this.markState(state);
    void this.fetchName();
    this.end = live.refreshing(REFRESH_SECONDS, () => this.refresh(), (event) => event.unique === this.id && event.type === "dump");
  }

  update(state: route.State): boolean {
    this.markState(state);
    if (this.growth !== null && this.asked === this.question()) {
      this.show(this.growth);
    } else {
      void this.refresh();
    }
    return true;
  }

  private async fetchName(): Promise<void> {
    try {
      const target = await api.json<Target>(api.targetPath(this.id));
      this.title = `Growth of ${target.name} (${target.pid})`;
      document.title = `${shown(this.title)} · jescope`;
      replace(this.heading, "Growth of ", name(target.name), ` (${target.pid})`);
    } catch {
      // The answer about growth says why.
    }
  }

  private markState(state: route.State): void {
    this.value.value = state.value ?? VALUES[0];
    this.by.value = state.by ?? "function";
    this.quiet.checked = state.quiet === "1";
    this.filters.forEach((input, id) => (input.value = state[id] ?? ""));
    for (const button of this.sides.querySelectorAll<HTMLElement>("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.side === (state.show ?? "functions")));
    }
  }

  private showOther(): void {
    route.apply({ show: route.read().show === "stacks" ? "" : "stacks" }, "replace");
  }

  private query(): api.Query {
    const state = route.read();
    return { ...Object.fromEntries(ASKED.map((id) => [id, state[id]])), count: ROWS };
  }

  private question(): string {
    return JSON.stringify([this.query(), this.kept.map((dump) => dump.id)]);
  }

  /** The server takes a while to read many dumps: they are read again only if there are new ones, or the query has
   * changed. */
  private async refresh(): Promise<void> {
    try {
      this.kept = (await api.json<{ dumps: Dump[] }>(api.targetPath(this.id, "/dumps"))).dumps;
      const question = this.question();
      if (question === this.asked) {
        return;
      }
      this.abort.abort();
      this.abort = new AbortController();
      this.element.setAttribute("aria-busy", "true");
      const growth = await api.json<Growth>(api.url(api.targetPath(this.id, "/growth"), this.query()), { signal: this.abort.signal });
      this.asked = question;
      this.error.hidden = true;
      this.show(growth);
    } catch (error) {
      if (!api.isAbort(error)) {
        this.showError(error);
      }
    }
    this.element.removeAttribute("aria-busy");
  }

  private showError(error: unknown): void {
    if (error instanceof api.ApiError && (error.status === 401 || error.status === 0)) {
      return;
    }
    replace(this.error, h("span", null, ...shell.explain(error)));
    this.error.hidden = false;
  }

  /** A rate per hour (or per dump) and its 95 % confidence interval. */
  private rate(growth: Growth, rate: Rate): [string, string] {
    const [scale, per] = growth.slope_per === "second" ? [3600, "/h"] : [1, " per dump"];
    const unit = growth.value.endsWith("_space") ? "bytes" : "objects";
    const [least, most] = [rate.slope - NORMAL * rate.slope_error, rate.slope + NORMAL * rate.slope_error];
    return [`${signed(rate.slope * scale, unit)}${per}`, `${signed(least * scale, unit)} to ${signed(most * scale, unit)}`];
  }

  private quantity(growth: Growth, value: number): string {
    return quantity(value, growth.value.endsWith("_space") ? "bytes" : "objects");
  }

  private show(growth: Growth): void {
    this.growth = growth;
    const side = route.read().show === "stacks" ? "stacks" : "functions";
    const all = growth[side];
    const rows = this.quiet.checked ? all : all.filter((row) => row.verdict !== QUIET);
    const [first, last] = [growth.dumps[0], growth.dumps[growth.dumps.length - 1]];
    const span = growth.slope_per === "second" ? `${moment(first.time)} to ${moment(last.time)}, ${duration(last.time - first.time)}` : `dump ${first.name} to dump ${last.name}`;
    const [rate, interval] = this.rate(growth, growth.total);
    setText(this.facts, `${VALUE_NAMES[growth.value] ?? growth.value} in all: ${growth.total.verdict}, ${rate} (95 %: ${interval}), ${this.quantity(growth, growth.total.first)} → ${this.quantity(growth, growth.total.last)} · ${growth.dumps.length} dumps, ${span}`);
    const left = this.kept.length > MOST ? [`the newest ${MOST} of ${this.kept.length} kept dumps are compared`] : [];
    replace(this.notes, ...[...left, ...growth.notes].map((note) => h("li", null, shown(note))));
    const titles: [string, boolean][] = [[side === "stacks" ? "Stack, innermost function first" : BY.find(([id]) => id === growth.by)?.[1] ?? "functions", false], ["Verdict", false],
      [growth.slope_per === "second" ? "Per hour" : "Per dump", true], ["95 % interval", true], ["First", true], ["Last", true], ["Over the dumps", false], ["", false]];
    replace(this.head, h("tr", null, ...titles.map(([title, number]) => title === "" ? h("td") : h("th", { scope: "col", class: number ? "number" : null }, title))));
    replace(this.body, ...rows.map((row) => this.row(growth, row, side)));
    this.table.hidden = rows.length === 0;
    const quiet = all.length - all.filter((row) => row.verdict !== QUIET).length;
    setText(this.rest, `${rows.length === 0 ? "Nothing has changed by more than sampling explains." : `${count(rows.length)} ${rows.length === 1 ? "row" : "rows"}, the steepest first.`}${quiet > 0 && !this.quiet.checked ? ` ${count(quiet)} more changed by no more than sampling explains.` : ""}${all.length >= ROWS ? ` Only the ${ROWS} steepest are shown; filter to see others.` : ""}`);
  }

  private row(growth: Growth, row: Row, side: string): HTMLElement {
    const [rate, interval] = this.rate(growth, row);
    const [first, last] = [growth.dumps[0], growth.dumps[growth.dumps.length - 1]];
    const points = row.series.map((value, index): [number, number] => [growth.dumps[index].time, value]);
    const label = (low: number, high: number): string => `${this.quantity(growth, low)} to ${this.quantity(growth, high)} in ${growth.dumps.length} dumps`;
    // The profile of the row: callers and callees of the function, from the first dump to the last.
    const found = { view: "profile", target: this.id, dump: last.name, base: first.name, value: route.read().value, by: route.read().by, fn: growth.by === "function" ? row.frames[0] : "" };
    return h("tr", null, h("th", { scope: "row", class: "grows" }, side === "stacks" ? this.stack(row.frames) : name(row.frames[0])), h("td", { class: colour(row.verdict) }, row.verdict),
      h("td", { class: "number" }, rate), h("td", { class: "number faint" }, interval), h("td", { class: "number" }, this.quantity(growth, row.series[0])),
      h("td", { class: "number" }, this.quantity(growth, row.series[row.series.length - 1])), h("td", null, sparkline(points, label)),
      h("td", null, h("a", { href: route.address(found), "aria-label": `Change of ${shown(row.frames[0])} from the first dump to the last`, title: `dump ${first.name}, ${clock(first.time)}, to dump ${last.name}, ${clock(last.time)}` }, "change")));
  }

  private stack(frames: string[]): HTMLElement {
    const list = (): HTMLElement => stack(frames, (frame) => h("li", null, name(frame)));
    if (frames.length <= FRAMES) {
      return list();
    }
    const whole = h("details", null, h("summary", null, ...frames.slice(0, FRAMES).flatMap((frame, index) => [index ? " ← " : "", name(frame)]), ` and ${frames.length - FRAMES} more`));
    whole.addEventListener("toggle", () => whole.append(list()), { once: true });
    return whole;
  }

  destroy(): void {
    this.abort.abort();
    this.end();
  }
}
