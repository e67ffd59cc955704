// SPDX-License-Identifier: Apache-2.0
// One target, live: memory, charts over its history, arenas and classes, controls, recordings and dumps, events.
import * as ahead from "./ahead";
import * as api from "./api";
import { Chart, type Mark } from "./chart";
import { Controls } from "./controls";
import { Doctor } from "./doctor";
import type { Dump, Recording, Series, ServiceEvent, Target } from "./documents";
import { h, name, replace, setText, shown } from "./dom";
import { bytes, clock, moment } from "./format";
import { FEWEST_OF_GROWTH } from "./growth";
import { HeatMap, type Statistics } from "./heat";
import { Ledger } from "./ledger";
import * as live from "./live";
import { Memory } from "./memory";
import * as route from "./route";
import * as shell from "./shell";
import { samplingText } from "./targets";

const REFRESH_SECONDS = 5;
const RECORDING_REFRESH_SECONDS = 1;
const POINTS = 400;
// Sections of the statistics that the heat map does not use, four fifths of them: letters of malloc_stats_print(3).
const OMITTED = "mdxeh";
// The process decides what is in them: 8 MiB, twice those of 512 arenas, can take more than a second to parse.
const STATISTICS_MAX = 8 << 20;
const STATISTICS_SHARE = 20; // they take one part in so many of the page's time
const SPANS: [string, string][] = [["300", "5 min"], ["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "1 day"], ["604800", "7 days"]];
const SPAN_DEFAULT = "900";

const METRICS: [string, string][] = [["process.rss", "RSS"], ["resident", "resident"], ["active", "active"], ["allocated", "allocated"], ["metadata", "metadata"]];

const MARKS: { [type: string]: [string, string] } = {
  "recording-started": ["R", "recording began"], "recording-ended": ["E", "recording ended"], dump: ["D", "dump"], "target-came": ["▲", "target came"],
  "target-gone": ["▼", "target ended"], advice: ["!", "advice"], "advice-off": ["✓", "advice no longer holds"], "profiling-on": ["+", "sampling on"],
  "profiling-off": ["−", "sampling off"], control: ["c", "control written"], ended: ["✝", "the process"], "rule-fired": ["r", "a rule fired"],
  "rule-done": ["ρ", "rule ended"],
};

function eventText(event: ServiceEvent): string {
  const what = MARKS[event.type]?.[1] ?? event.type;
  const subject = event.subject !== undefined && event.type === "dump" ? ` ${event.subject}` : "";
  return `${what}${subject}${event.detail ? `: ${event.detail}` : ""}${event.who ? ` (by ${event.who})` : ""}`;
}

export class TargetView implements shell.View {
  title = "Target";
  readonly element: HTMLElement;
  readonly keys = [
    { key: "r", text: "to the controls", run: () => this.controls.element.querySelector("button")?.focus() },
    { key: "p", text: "the latest profile", run: () => this.openLatest() },
  ];
  private readonly id: string;
  private readonly heading = h("h1");
  private readonly facts = h("p", { class: "facts" });
  private readonly notice = h("p", { class: "notice", hidden: true });
  private readonly memory = new Memory();
  private readonly chart: Chart;
  private readonly heat = new HeatMap();
  private statisticsDue = 0;
  private readonly controls: Controls;
  private readonly doctor: Doctor;
  private readonly dumps = h("tbody");
  private readonly noDumps = h("p", { class: "faint" });
  private readonly growth = h("p", { class: "faint" });
  private readonly recordings = h("ul", { class: "plain" });
  private readonly events = h("ol", { class: "plain" });
  private readonly spans: HTMLElement;
  private readonly ends: (() => void)[] = [];
  private target: Target | null = null;
  private kept: Dump[] = [];
  private ticker = 0;

  constructor(state: route.State) {
    this.id = state.target ?? "";
    this.controls = new Controls(this.id, () => void this.refresh());
    this.doctor = new Doctor(this.id);
    this.chart = new Chart({ label: "Memory over time", unit: "bytes", onZoom: (span) => this.zoom(span) });
    this.spans = h("div", { class: "bar", role: "group", "aria-label": "Time" }, ...SPANS.map(([seconds, text]) =>
      h("button", { class: "choice", "data-span": seconds, onclick: () => this.choose(seconds) }, text)));
    this.element = h("div", null, this.heading, this.facts, this.notice,
      h("section", null, h("h2", null, "Memory"), this.memory.element),
      h("section", null, h("h2", null, "History"), this.spans, this.chart.element),
      h("section", null, h("h2", null, "Controls"), this.controls.element),
      h("section", null, h("h2", null, "Profiles"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Kept dumps" }, h("table", { class: "list" }, h("thead", null,
        h("tr", null, h("th", { scope: "col" }, "Dump"), h("th", { scope: "col" }, "Taken"), h("th", { scope: "col", class: "number" }, "Size"), h("th", { scope: "col" }, "Compare"), h("th", { scope: "col" }, "Save"))), this.dumps)),
      this.noDumps, this.growth, this.recordings),
      h("section", null, h("h2", null, "Diagnosis"), this.doctor.element),
      h("section", null, h("h2", null, "Ledger"), new Ledger(this.id).element),
      h("section", null, h("h2", null, "Arenas and size classes"), this.heat.element),
      h("section", null, h("h2", null, "Events"), this.events));
    this.markSpan();
    this.ends.push(live.refreshing(REFRESH_SECONDS, () => this.refresh(), (event) => event.unique === this.id));
  }

  update(): boolean {
    this.markSpan();
    void this.refresh();
    return true;
  }

  private openLatest(): void {
    if (this.kept.length > 0) {
      route.go({ view: "profile", target: this.id, dump: String(this.kept[0].id) });
    }
  }

  private choose(seconds: string): void {
    route.apply({ span: seconds === SPAN_DEFAULT ? "" : seconds, from: "", to: "" });
  }

  private zoom(span: [number, number] | null): void {
    route.apply(span === null ? { from: "", to: "" } : { from: span[0].toFixed(1), to: span[1].toFixed(1) });
  }

  private markSpan(): void {
    const state = route.read();
    for (const button of this.spans.querySelectorAll<HTMLButtonElement>("button")) {
      button.setAttribute("aria-pressed", String(!state.from && button.dataset.span === (state.span ?? SPAN_DEFAULT)));
    }
  }

  private span(): [number, number] {
    const state = route.read();
    const now = Date.now() / 1000;
    const [from, to] = [Number(state.from), Number(state.to)];
    return state.from && to > from ? [from, to] : [now - (Number(state.span ?? SPAN_DEFAULT) || Number(SPAN_DEFAULT)), now];
  }

  private get<T>(rest: string, query: api.Query = {}): Promise<T> {
    return api.json<T>(api.url(api.targetPath(this.id, rest), query));
  }

  private async refresh(): Promise<void> {
    try {
      const target = await this.get<Target>("");
      if (!route.isBound(this.id) && route.isBound(target.unique)) { // there was none of this name before
        route.apply({}, "replace");
        return;
      }
      this.showTarget(target);
      await Promise.all([this.refreshChart(), this.refreshDumps(), target.state === "live" ? this.refreshStatistics() : undefined]);
      this.showEvents();
    } catch (error) {
      if (this.target === null) {
        this.showAbsent(error);
      } else {
        shell.fail(error);
      }
    }
  }

  private showAbsent(error: unknown): void {
    if (!(error instanceof api.ApiError) || error.status === 0 || error.status === 401) {
      return;
    }
    setText(this.heading, "No such target");
    replace(this.facts, ...shell.explain(error), " ", h("a", { href: route.address({}) }, "All targets"));
    this.element.querySelectorAll("section").forEach((section) => (section.hidden = true));
  }

  private showTarget(target: Target): void {
    this.target = target;
    this.title = `${target.name} (${target.pid})`;
    document.title = `${shown(this.title)} · jescope`;
    replace(this.heading, name(target.name), ` (${target.pid})`);
    this.element.querySelectorAll("section").forEach((section) => (section.hidden = false));
    const since = target.started === null ? "" : `, started ${moment(target.started)}`;
    const period = target.profiling?.sample_bytes ? `, one sample every ${bytes(target.profiling.sample_bytes)}` : "";
    setText(this.facts, `${target.trouble ?? target.state}${since} · ${target.jemalloc === null ? "jemalloc not asked yet" : `jemalloc ${shown(target.jemalloc.version.split("-")[0])} in ${shown(target.jemalloc.found_in)}`} · sampling ${samplingText(target)}${period}`);
    const notice = [target.profiling?.obstacle, target.notice].filter((text) => text).join(" · ");
    this.notice.hidden = notice === "";
    setText(this.notice, shown(notice));
    this.memory.set(target.sample);
    this.controls.set(target);
    clearTimeout(this.ticker);
    if (target.recording?.state === "running" || target.profiling?.lease) {
      this.ticker = window.setTimeout(() => void this.refreshRecording(), RECORDING_REFRESH_SECONDS * 1000);
    }
  }

  /** The progress of running recordings, between complete refreshes. */
  private async refreshRecording(): Promise<void> {
    try {
      this.showTarget(await this.get<Target>(""));
    } catch {
      // The next complete refresh reports the reason.
    }
  }

  private async refreshChart(): Promise<void> {
    const span = this.span();
    const step = Math.max(1, Math.ceil((span[1] - span[0]) / POINTS));
    const answer = await this.get<{ series: Series[] }>("/series", { metric: METRICS.map(([metric]) => metric).join(","), from: span[0].toFixed(3), to: span[1].toFixed(3),
      step: span[1] - span[0] > POINTS ? `${step}s` : "" });
    const lines = METRICS.map(([metric, label]) => ({ label, points: answer.series.filter((series) => series.metric === metric).flatMap((series) => series.points) }));
    const filled = lines.filter((line) => line.points.length > 0);
    // The time before the history began is not shown as if there had been no values.
    const begin = Math.min(...filled.map((line) => line.points[0][0]), span[1] - 10);
    this.chart.set(filled, this.marks(), route.read().from ? span : [Math.max(span[0], begin), span[1]]);
  }

  private marks(): Mark[] {
    const events = live.eventsOf(this.id).filter((event) => event.type in MARKS)
      .map((event) => ({ time: Date.parse(event.time) / 1000, letter: MARKS[event.type][0], text: shown(eventText(event)) }));
    const known = new Set(live.eventsOf(this.id).filter((event) => event.type === "dump").map((event) => event.subject));
    const dumps = this.kept.filter((dump) => !known.has(dump.id)).map((dump) => ({ time: dump.taken, letter: "D", text: `dump ${dump.id}` }));
    const start = this.target?.started ? [{ time: this.target.started, letter: "▲", text: "target started" }] : [];
    return [...start, ...dumps, ...events];
  }

  private async refreshDumps(): Promise<void> {
    const [{ dumps }, { recordings }] = await Promise.all([this.get<{ dumps: Dump[] }>("/dumps"), this.get<{ recordings: Recording[] }>("/recordings")]);
    const same = JSON.stringify(dumps) === JSON.stringify(this.kept) && this.dumps.children.length === dumps.length;
    this.kept = dumps;
    if (!same) {
      replace(this.dumps, ...dumps.map((dump, index) => this.dumpRow(dump, dumps[index + 1])));
      if (dumps.length > 0) {
        ahead.askSoon(this.dumpPath(dumps[0]), dumps[0].bytes);
      }
    }
    setText(this.noDumps, dumps.length === 0 ? "No dump is kept. Record, or take one now." : "");
    replace(this.growth, dumps.length === 0 ? null : dumps.length < FEWEST_OF_GROWTH ? `Three kept dumps show what grows; ${dumps.length} ${dumps.length === 1 ? "is" : "are"} kept.`
      : h("a", { href: route.address({ view: "growth", target: this.id }) }, "Growth over all kept dumps"));
    const failed = recordings.filter((recording) => recording.why !== null).slice(0, 3);
    replace(this.recordings, ...failed.map((recording) => h("li", null, `The recording of ${moment(recording.begin)} ended without a dump: ${shown(recording.why ?? "")}`)));
  }

  private dumpPath(dump: Dump): string {
    return api.targetPath(this.id, `/dumps/${dump.id}`);
  }

  private dumpRow(dump: Dump, before: Dump | undefined): HTMLElement {
    const address = (base: string): string => route.address({ view: "profile", target: this.id, dump: String(dump.id), base });
    const others = this.kept.filter((other) => other.id !== dump.id);
    const ask = (): void => ahead.ask(this.dumpPath(dump));
    const choice = h("select", { "aria-label": `Base to compare dump ${dump.id} with`, onchange: () => choice.value && route.go({ view: "profile", target: this.id, dump: String(dump.id), base: choice.value }) },
      h("option", { value: "" }, "with…"), ...others.map((other) => h("option", { value: other.id }, `dump ${other.id}, ${clock(other.taken)}`))) as HTMLSelectElement;
    return h("tr", null, h("th", { scope: "row" }, h("a", { href: address(""), onpointerdown: ask, onfocus: ask }, `Dump ${dump.id}`)), h("td", null, moment(dump.taken)), h("td", { class: "number" }, bytes(dump.bytes)),
      h("td", null, before ? h("a", { href: address(String(before.id)) }, `since dump ${before.id}`) : "", " ", others.length > (before ? 1 : 0) ? choice : ""),
      h("td", null, h("a", { href: this.dumpPath(dump), download: `${this.target?.pid}.${dump.id}.heap` }, "raw"), " ",
        h("a", { href: api.url(this.dumpPath(dump), { format: "pprof" }), download: `${this.target?.pid}.${dump.id}.pb.gz` }, "pprof")));
  }

  private async refreshStatistics(): Promise<void> {
    const decay = this.get<{ dirty_ms: number; muzzy_ms: number }>("/decay");
    const background = this.get<{ enabled: boolean }>("/background-thread");
    const statistics = this.fetchStatistics();
    const [now, threads, all] = await Promise.allSettled([decay, background, statistics]);
    if (now.status === "fulfilled" && threads.status === "fulfilled") {
      this.controls.setDecayTimes(now.value, threads.value);
    }
    if (all.status === "rejected") {
      api.isTooLarge(all.reason) && this.heat.fail(all.reason);
    } else if (all.value !== null) {
      this.heat.set(all.value);
    }
  }

  /** Null: they are not due yet. */
  private async fetchStatistics(): Promise<Statistics | null> {
    const begun = performance.now();
    if (begun < this.statisticsDue) {
      return null;
    }
    try {
      return await api.json<Statistics>(api.url(api.targetPath(this.id, "/statistics"), { options: OMITTED }), { max: STATISTICS_MAX });
    } finally {
      const now = performance.now();
      this.statisticsDue = now + (now - begun) * STATISTICS_SHARE;
    }
  }

  private showEvents(): void {
    const events = live.eventsOf(this.id).slice(-50).reverse();
    replace(this.events, ...events.map((event) => h("li", null, h("time", { datetime: event.time }, clock(Date.parse(event.time) / 1000)), ` ${shown(eventText(event))}`)));
    if (events.length === 0) {
      replace(this.events, h("li", { class: "faint" }, "None that the server remembers."));
    }
  }

  destroy(): void {
    ahead.drop();
    clearTimeout(this.ticker);
    this.ends.forEach((end) => end());
    this.chart.destroy();
    this.doctor.destroy();
  }
}

