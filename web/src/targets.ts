// SPDX-License-Identifier: Apache-2.0
// All processes that jescope serves, updated as they start and end.
import * as api from "./api";
import * as coverage from "./coverage";
import type { Series, Target } from "./documents";
import { h, name, replace, setAttribute, setText, shown } from "./dom";
import { bytes, duration, percent } from "./format";
import * as live from "./live";
import * as route from "./route";
import * as shell from "./shell";
import { sparkline } from "./spark";

const REFRESH_SECONDS = 5;
const TREND_SECONDS = 900;
const TREND_REFRESH_MS = 30000;

interface Column {
  id: string;
  title: string;
  number?: boolean;
  about?: string;
  value(target: Target): string | number | null;
  show?(target: Target): (Node | string)[];
}

const figure = (id: "allocated" | "resident" | "rss", title: string): Column => ({
  id, title, number: true,
  value: (target) => target.sample?.[id] ?? null,
  show: (target) => [typeof target.sample?.[id] === "number" ? bytes(target.sample[id] as number) : "–"],
});

/** The share that profiles of TARGET explain depends on the time since which it is sampled. */
export function samplingText(target: Target): string {
  const profiling = target.profiling;
  if (profiling === null) {
    return target.trouble !== null ? "unknown" : "not asked yet";
  }
  if (!profiling.available) {
    return "not possible";
  }
  if (!profiling.active) {
    return "off";
  }
  if (profiling.lease !== null) {
    return `on, for another ${duration(profiling.lease.remaining_seconds)}`;
  }
  return profiling.since === "start" ? "on since the start" : "on";
}

function recordingText(target: Target): string {
  return target.recording?.state === "running" ? `recording, ${duration(target.recording.remaining_seconds)} left` : "";
}

const explainedText = (share: number | null): string => share === null ? "–" : percent(share);

const columns: Column[] = [
  { id: "name", title: "Process", value: (target) => target.name.toLowerCase(),
    show: (target) => [h("a", { href: route.address({ view: "target", target: target.unique }) }, name(target.name))] },
  { id: "pid", title: "Pid", number: true, value: (target) => target.pid },
  { id: "uid", title: "User", number: true, value: (target) => target.uid },
  { id: "state", title: "State", value: (target) => target.trouble ?? target.state,
    show: (target) => [target.trouble !== null ? shown(target.trouble) : target.state ?? "–"] },
  figure("allocated", "Allocated"),
  figure("resident", "Resident"),
  figure("rss", "RSS"),
  { id: "sampling", title: "Sampling", value: samplingText, show: (target) => [samplingText(target), recordingText(target) && ` · ${recordingText(target)}`] },
  { id: "explained", title: "Explained", number: true, about: "by the last dump looked at",
    value: coverage.share, show: (target) => [explainedText(coverage.share(target))] },
];

interface Row {
  element: HTMLTableRowElement;
  cells: HTMLTableCellElement[];
  trend: HTMLTableCellElement;
  texts: string[];
  trendAt: number;
  isSeen: boolean; // visible: only then its trend is requested
  target: Target;
}

const trendText = (low: number, high: number, seconds: number): string => `allocated: ${bytes(low)} to ${bytes(high)} in ${duration(seconds)}`;

export class TargetsView implements shell.View {
  readonly title = "Targets";
  readonly element: HTMLElement;
  readonly keys = [{ key: "/", text: "search processes", run: () => this.search.focus() }];
  private readonly search: HTMLInputElement = h("input", { type: "search", id: "search", "aria-label": "Search", placeholder: "name, pid, user or state",
    oninput: () => route.apply({ q: this.search.value }, "replace") });
  private readonly gone: HTMLInputElement = h("input", { type: "checkbox", id: "gone", onchange: () => route.apply({ gone: this.gone.checked ? "1" : "" }) });
  private readonly count = h("p", { class: "faint", role: "status" });
  private readonly heads: HTMLTableCellElement[] = [];
  private readonly body = h("tbody");
  private readonly rows = new Map<string, Row>();
  private targets: Target[] | null = null;
  private readonly observer = new IntersectionObserver((entries) => this.onSeen(entries));
  private readonly end: () => void;
  private order = { column: columns[0], down: false };

  constructor() {
    for (const column of columns) {
      this.heads.push(h("th", { scope: "col", class: column.number ? "number" : null, title: column.about },
        h("button", { class: "sort", onclick: () => this.sortBy(column) }, column.title)));
    }
    this.heads.splice(5, 0, h("th", { scope: "col" }, "Trend, 15 min"));
    this.element = h("div", { class: "wide" }, h("h1", null, "Targets"),
      h("div", { class: "bar" }, this.search, h("label", null, this.gone, " ended ones too"),
        h("a", { href: route.address({ view: "ended" }) }, "What the black box has kept"), this.count),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Processes" },
        h("table", { class: "list" }, h("thead", null, h("tr", null, ...this.heads)), this.body)));
    this.update(route.read());
    this.end = live.refreshing(REFRESH_SECONDS, () => this.refresh(), () => true);
  }

  private sortBy(column: Column): void {
    const same = this.order.column === column;
    const down = same ? !this.order.down : column.number === true;
    route.apply({ sort: (down ? "-" : "") + column.id });
  }

  update(state: route.State): boolean {
    const sort = state.sort ?? "name";
    const column = columns.find((candidate) => candidate.id === sort.replace(/^-/, "")) ?? columns[0];
    const wasGone = this.gone.checked;
    this.order = { column, down: sort.startsWith("-") };
    if (this.search.value !== (state.q ?? "")) {
      this.search.value = state.q ?? "";
    }
    this.gone.checked = state.gone === "1";
    columns.forEach((each) => setAttribute(this.headOf(each), "aria-sort",
      each === column ? this.order.down ? "descending" : "ascending" : null));
    this.draw();
    if (wasGone !== this.gone.checked && this.targets !== null) {
      void this.refresh();
    }
    return true;
  }

  private headOf(column: Column): HTMLTableCellElement {
    const index = columns.indexOf(column);
    return this.heads[index < 5 ? index : index + 1];
  }

  private async refresh(): Promise<void> {
    try {
      this.targets = (await api.json<{ targets: Target[] }>(api.url("/api/v1/targets", { state: this.gone.checked ? "all" : "" }))).targets;
      this.draw();
    } catch (error) {
      shell.fail(error);
    }
  }

  private wanted(): Target[] {
    const words = this.search.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const { column, down } = this.order;
    const matching = (this.targets ?? []).filter((target) => {
      const text = `${target.name} ${target.pid} ${target.uid} ${target.state} ${samplingText(target)}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const compare = (a: Target, b: Target): number => {
      const [x, y] = [column.value(a), column.value(b)];
      if (x === null || y === null) {
        return Number(x === null) - Number(y === null);
      }
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
      return (down ? -order : order) || a.pid - b.pid;
    };
    return matching.sort(compare);
  }

  private makeRow(target: Target): Row {
    const cells = columns.map((column, index) => h(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : null, class: column.number ? "number" : null }));
    const trend = h("td");
    const element = h("tr", null, ...cells.slice(0, 5), trend, ...cells.slice(5));
    return { element, cells: cells as HTMLTableCellElement[], trend, texts: [], trendAt: 0, isSeen: false, target };
  }

  private onSeen(entries: IntersectionObserverEntry[]): void {
    const seen = new Map(entries.map((entry) => [entry.target, entry.isIntersecting]));
    for (const row of this.rows.values()) {
      row.isSeen = seen.get(row.element) ?? row.isSeen;
      void this.drawTrend(row);
    }
  }

  private fill(row: Row, target: Target): void {
    columns.forEach((column, index) => {
      const parts = column.show?.(target) ?? [String(column.value(target) ?? "–")];
      const obstacle = column.id === "sampling" ? target.profiling?.obstacle ?? target.notice : null;
      const text = parts.map((part) => typeof part === "string" ? part : part.textContent).join("") + (obstacle ?? "");
      if (row.texts[index] !== text) {
        row.texts[index] = text;
        replace(row.cells[index], ...parts, obstacle ? h("div", { class: "note" }, shown(obstacle)) : null);
      }
    });
    row.element.className = target.state === "live" ? "" : "gone";
  }

  private async drawTrend(row: Row): Promise<void> {
    const { target } = row;
    if (!row.isSeen || target.series === null || Date.now() - row.trendAt < TREND_REFRESH_MS) {
      return;
    }
    row.trendAt = Date.now();
    try {
      const path = api.url(api.targetPath(target.unique, "/series"), { metric: "allocated", from: `-${TREND_SECONDS}s`, step: "5s" });
      const answer = await api.json<{ series: Series[] }>(path);
      const points = answer.series[0]?.points ?? [];
      row.trendAt -= points.length < 2 ? TREND_REFRESH_MS - REFRESH_SECONDS * 1000 : 0;
      replace(row.trend, sparkline(points, trendText));
    } catch {
      replace(row.trend, h("span", { class: "faint" }, "–"));
    }
  }

  private draw(): void {
    if (this.targets === null) {
      return;
    }
    const wanted = this.wanted();
    const seen = new Set<string>();
    wanted.forEach((target, index) => {
      const row = this.rows.get(target.unique) ?? this.makeRow(target);
      row.target = target;
      this.rows.set(target.unique, row);
      seen.add(target.unique);
      this.fill(row, target);
      // Moved only when needed: a moved row loses the focus.
      if (this.body.children[index] !== row.element) {
        this.body.insertBefore(row.element, this.body.children[index] ?? null);
        this.observer.observe(row.element);
      }
      void this.drawTrend(row);
    });
    for (const [unique, row] of this.rows) {
      if (!seen.has(unique)) {
        this.observer.unobserve(row.element);
        row.element.remove();
        this.rows.delete(unique);
      }
    }
    const total = this.targets.length;
    setText(this.count, total === 0 ? "No process that jescope can serve. Start one with 'jescope run -- PROGRAM'."
      : wanted.length === total ? `${total} ${total === 1 ? "process" : "processes"}` : `${wanted.length} of ${total} processes`);
  }

  destroy(): void {
    this.observer.disconnect();
    this.end();
  }
}
