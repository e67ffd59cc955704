// SPDX-License-Identifier: Apache-2.0
// A profile, or the change between two: flame graph with the functions, the tree or the stacks beside it, all from the
// same data.
import * as ahead from "./ahead";
import * as api from "./api";
import { BY, FILTERS, regexField, select, VALUE_NAMES } from "./choices";
import * as coverage from "./coverage";
import type { Dump, Life, Target } from "./documents";
import { brief, h, name, replace, setText, shown, stack, visible } from "./dom";
import * as files from "./files";
import { Flame } from "./flame";
import { bytes, clock, count, duration, moment, percent, quantity, signed } from "./format";
import { Grid, type GridColumn, type GridRow } from "./grid";
import { ancestry, exactly, type Graph, isSignificant, keyOf, layOut, type Layout, type Profile, rowName, rowOf } from "./profile-data";
import type { Key } from "./keys";
import { matches } from "./matcher";
import * as route from "./route";
import * as shell from "./shell";

const SIDES: [string, string][] = [["functions", "Functions"], ["tree", "Tree"], ["stacks", "Stacks"], ["source", "Source"]];
const REPORTED = ["value", "by", "focus", "ignore", "exclude", "retain", "show-from", "wrappers", "callers", "base", "thread"];
const TREE_OPEN = 40;
const TYPING_MS = 300;

/** The frames whose names the search TEXT matches. */
interface Matched {
  text: string;
  names: string[];
  frames: boolean[];
}

/** For a column. */
function brieflyNamed(text: string): HTMLElement {
  const element = name(brief(text));
  if (brief(text) !== text) {
    element.title = visible(text).slice(0, 4096);
  }
  return element;
}

export interface Bases {
  rows: [string, string][]; // value in the address, text
  before: string | null; // the usual one for comparison
  others?: [string, string][]; // targets that may have more: value in the address, text
}

/** The source of the answers: a server's dump, or the contents of a file. */
export interface ProfileSource {
  title: string;
  back: route.State; // the previous view
  /** Other dumps that it can be compared with. */
  bases?(of: string): Promise<Bases>;
  /** Its name, if only the answer has that. */
  named?(profile: Profile): string;
  /** A line of text about its process. */
  line?(signal: AbortSignal): Promise<string>;
  /** Controls for it, beside the heading. */
  controls?: HTMLElement;
  fetch(query: api.Query, signal: AbortSignal): Promise<Profile>;
  source?(query: api.Query, signal: AbortSignal): Promise<string>;
  /** All data is present: nothing can be requested. */
  isWhole: boolean;
}

export class ProfileView implements shell.View {
  title = "Profile";
  readonly element: HTMLElement;
  readonly keys: Key[];
  private readonly asking: Key[] = [
    { key: "s", text: "callers and callees of the selected function", run: () => this.withName((text) => this.sandwich(text)) },
    { key: "f", text: "focus on the selected function", run: () => this.withName((text) => route.apply({ focus: exactly(text), zoom: "" })) },
    { key: "x", text: "ignore stacks with the selected function", run: () => this.withName((text) => route.apply({ ignore: exactly(text), zoom: "" })) },
    { key: "h", text: "hide frames of the selected function", run: () => this.withName((text) => route.apply({ exclude: exactly(text), zoom: "" })) },
    { key: "i", text: "invert: from the allocations up to their callers", run: () => this.invert() },
    { key: "d", text: "difference: compare with the dump before, and back", run: () => this.toggleBase() },
    { key: "w", text: "show and hide wrappers", run: () => route.apply({ wrappers: route.read().wrappers ? "" : "true", zoom: "" }) },
  ];
  private readonly looking: Key[] = [
    { key: "/", text: "search", run: () => this.search.focus() },
    { key: "n", text: "the next frame that matches", run: () => this.nextMatch(1) },
    { key: "N", text: "the previous frame that matches", run: () => this.nextMatch(-1) },
    { key: "ArrowUp ArrowDown ArrowLeft ArrowRight", text: "walk the frames of the graph, or the rows of the table" },
    { key: "Enter", text: "zoom to the frame; in the functions: its callers and callees" },
    { key: "0", text: "zoom out", run: () => route.apply({ zoom: "", fn: "" }) },
    { key: "Escape", text: "zoom out one frame", run: () => this.zoomOut() },
    { key: "t", text: "functions, tree or stacks", run: () => this.nextSide() },
  ];
  private readonly heading = h("h1");
  private readonly line = h("p", { class: "ended", hidden: true });
  private readonly facts = h("p", { class: "facts" });
  private readonly notes = h("ul", { class: "notes" });
  private readonly value = select("Value", [], (value) => route.apply({ value: value === "inuse_space" ? "" : value, zoom: "" }));
  private readonly by = select("Group by", BY, (by) => route.apply({ by: by === "function" ? "" : by, zoom: "", fn: "" }));
  private readonly base = select("Base", [], (base) => route.apply({ base }));
  private readonly of = select("Base of which process", [], (of) => route.apply({ of, base: "" }));
  private readonly callers: HTMLInputElement = h("input", { type: "checkbox", onchange: () => this.invert() });
  private readonly wrappers: HTMLInputElement = h("input", { type: "checkbox", onchange: () => route.apply({ wrappers: this.wrappers.checked ? "" : "true", zoom: "" }) });
  private readonly filters = new Map<string, HTMLInputElement>();
  private readonly search: HTMLInputElement = h("input", { type: "search", "aria-label": "Search", placeholder: "search (regular expression)", oninput: () => this.onSearch() });
  private readonly found = h("span", { class: "faint", role: "status" });
  private readonly crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom" });
  private readonly details = h("p", { class: "details" });
  private readonly legend = h("p", { class: "legend-line", hidden: true });
  private readonly graphs = h("div", { class: "graphs" });
  private readonly sides = h("div", { class: "bar", role: "group", "aria-label": "Beside the graph" });
  private readonly side = h("div", { class: "side" });
  private readonly error = h("p", { class: "message error", role: "alert", hidden: true });
  private flames: { flame: Flame; layout: Layout }[] = [];
  private grid: Grid | null = null;
  private profile: Profile | null = null;
  private asked = "";
  private sideAsked = "";
  private abort = new AbortController();
  private sideAbort = new AbortController();
  private readonly lineAbort = new AbortController();
  private searchAbort = new AbortController();
  private lineAsked = false;
  private typing = 0;
  private matched: Matched = { text: "", names: [], frames: [] };
  private name: string | null = null;
  private bases: Bases = { rows: [], before: null };
  private basesOf: string | null = null; // the profile they belong to
  private expanded = new Set<number>();
  private treeRows: number[] = [];
  private zoomed = 0; // zoomed row of the first graph
  private lastRow: number | null = null; // the selected row

  constructor(private readonly source: ProfileSource) {
    this.title = source.title;
    this.keys = source.isWhole ? this.looking : [...this.looking, ...this.asking];
    for (const [id, label, about] of FILTERS) {
      this.filters.set(id, regexField(label, about, (text) => route.apply({ [id]: text, zoom: "" })));
    }
    this.sides.append(...SIDES.filter(([id]) => !source.isWhole || id === "functions" || id === "tree").map(([id, text]) =>
      h("button", { class: "choice", "data-side": id, onclick: () => route.apply({ side: id === "functions" ? "" : id }, "replace") }, text)));
    const whole = source.isWhole;
    this.element = h("div", { class: "profile" }, this.heading, source.controls, source.line !== undefined ? this.line : null, this.facts, this.notes,
      whole ? null : h("div", { class: "bar" }, this.value, h("label", null, "by ", this.by), source.bases !== undefined ? h("label", null, "since ", this.base) : null, this.of,
        h("label", null, this.callers, " inverted"), h("label", null, this.wrappers, " hide wrappers"), ...this.filters.values(),
        h("button", { onclick: () => route.apply({ focus: "", ignore: "", exclude: "", retain: "", "show-from": "", thread: "", wrappers: "", callers: "", zoom: "", fn: "", q: "" }) }, "Reset")),
      h("div", { class: "bar" }, this.search, this.found), this.error,
      this.crumbs, this.legend, this.details, h("div", { class: "split" }, this.graphs, h("div", { class: "beside" }, this.sides, this.side)));
    this.of.hidden = true;
    this.update(route.read());
  }

  private async fetchBases(of: string): Promise<void> {
    this.basesOf = of;
    try {
      const bases = await this.source.bases?.(of) ?? this.bases;
      if (this.basesOf !== of) {
        return;
      }
      this.bases = bases;
      this.fillBase();
      if (this.profile !== null) {
        this.showFacts(this.profile);
      }
      const state = route.read();
      if (of !== "" && bases.before === null) {
        shell.tell("There is no earlier dump to compare with.");
      } else if (of !== "" && !state.base && state.of === of) {
        route.apply({ base: bases.before }, "replace");
      }
    } catch (error) {
      shell.fail(error);
    }
  }

  private fillBase(): void {
    const { base = "", of = "" } = route.read();
    const others = this.bases.others ?? [];
    this.of.hidden = others.length === 0 && of === "";
    replace(this.of, h("option", { value: "" }, "of this process"), ...(others.some(([id]) => id === of) || of === "" ? others : [...others, [of, of] as [string, string]])
      .map(([value, text]) => h("option", { value }, `of ${shown(text)}`)));
    this.of.value = of;
    const rows: [string, string][] = this.bases.rows.some(([id]) => id === base) || base === "" ? this.bases.rows : [...this.bases.rows, [base, `dump ${base}`]];
    replace(this.base, h("option", { value: "" }, "no comparison"), ...rows.map(([value, text]) => h("option", { value }, text)));
    this.base.value = base;
  }

  update(state: route.State): boolean {
    this.by.value = state.by ?? "function";
    this.callers.checked = state.callers === "true";
    this.wrappers.checked = state.wrappers !== "true";
    this.filters.forEach((input, id) => (input.value = state[id] ?? ""));
    if (document.activeElement !== this.search) {
      this.search.value = state.q ?? "";
    }
    this.fillBase();
    if (this.basesOf !== (state.of ?? "")) {
      void this.fetchBases(state.of ?? "");
    }
    for (const button of this.sides.querySelectorAll<HTMLElement>("button")) {
      button.setAttribute("aria-pressed", String(button.dataset.side === (state.side ?? "functions")));
    }
    void this.refresh(state);
    return true;
  }

  /** The request for STATE, without what the same answer can show. */
  private query(state: route.State): api.Query {
    const query: api.Query = { width: ahead.width(this.graphs.clientWidth) };
    for (const id of REPORTED) {
      query[id] = state[id];
    }
    if (state.fn) {
      query.function = state.fn;
    } else {
      query.zoom = state.zoom;
    }
    return query;
  }

  private async refresh(state: route.State): Promise<void> {
    const query = this.source.isWhole ? {} : this.query(state);
    const asked = JSON.stringify(query);
    if (asked === this.asked && this.profile !== null) {
      this.zoomLocally(state);
      this.showSide(state);
      void this.showSearch();
      return;
    }
    this.abort.abort();
    this.abort = new AbortController();
    this.asked = asked;
    this.element.setAttribute("aria-busy", "true");
    try {
      const profile = await this.source.fetch(query, this.abort.signal);
      // The reader may meanwhile have selected another state that the same answer shows.
      this.show(profile, route.read());
      this.error.hidden = true;
      void this.fetchLine();
    } catch (error) {
      if (!api.isAbort(error)) {
        this.asked = "";
        this.showError(error);
      }
    }
    if (this.asked === asked || this.asked === "") {
      this.element.removeAttribute("aria-busy");
    }
  }

  /** After the profile, since a server limits the concurrent requests of a client. */
  private async fetchLine(): Promise<void> {
    if (this.source.line === undefined || this.lineAsked) {
      return;
    }
    this.lineAsked = true;
    try {
      setText(this.line, await this.source.line(this.lineAbort.signal));
      this.line.hidden = false;
    } catch (error) {
      if (!api.isAbort(error)) {
        this.lineAsked = false; // it is requested again with the next answer
      }
    }
  }

  private showError(error: unknown): void {
    if (error instanceof api.ApiError && error.status === 401) {
      return;
    }
    replace(this.error, h("span", null, ...shell.explain(error)));
    this.error.hidden = false;
    if (this.profile === null) {
      replace(this.heading, this.source.title);
      this.graphs.replaceChildren();
      this.side.replaceChildren();
      this.error.append(" ", h("a", { href: route.address(this.source.back) }, "Back"));
    }
  }

  private quantity(value: number): string {
    return quantity(value, (this.profile as Profile).unit);
  }

  private show(profile: Profile, state: route.State): void {
    this.profile = profile;
    this.sideAsked = "";
    const values = Object.keys(profile.source.whole).map((value): [string, string] => [value, VALUE_NAMES[value] ?? value.replace("_", " ")]);
    replace(this.value, ...values.map(([value, text]) => h("option", { value }, text)));
    this.value.value = profile.value;
    this.showFacts(profile);
    this.legend.hidden = profile.base === undefined;
    if (profile.base !== undefined) {
      replace(this.legend, h("span", { class: "swatch grown" }), " grown ", h("span", { class: "swatch shrunk" }), " shrunk ", h("span", { class: "swatch within" }), ` within the sampling error (less than ${profile.noise} standard errors)`);
    }
    this.showGraphs(profile, state);
    this.zoomLocally(state);
    this.showSide(state);
    void this.showSearch();
  }

  private showFacts(profile: Profile): void {
    const { of } = route.read();
    const whose = of ? ` of ${shown(this.bases.others?.find(([id]) => id === of)?.[1] ?? of)}` : "";
    const whole = profile.source.whole[profile.value];
    const part = profile.source.shown[profile.value];
    const text = (source: { total: number; error: number }): string => `${this.quantity(source.total)} ± ${this.quantity(source.error)}`;
    replace(this.heading, name(this.source.named?.(profile) ?? this.source.title), profile.base === undefined ? "" : ": change");
    const filtered = part.total !== whole.total ? `${text(part)} of ${text(whole)}` : text(whole);
    const facts = [`${VALUE_NAMES[profile.value] ?? profile.value}: ${filtered}`, `${count(profile.source.stacks)} stacks`,
      `one sample every ${quantity(profile.source.period, "bytes")}`, profile.source.time ? moment(profile.source.time) : ""];
    if (profile.base !== undefined) {
      const before = profile.base.shown[profile.value];
      facts.unshift(`${signed(part.total - before.total, profile.unit)} ± ${this.quantity(Math.hypot(part.error, before.error))} since ${profile.base.time ? moment(profile.base.time) : shown(profile.base.name)}${whose}`);
    }
    setText(this.facts, facts.filter((fact) => fact !== "").join(" · "));
    const notes = [...(profile.empty ? [profile.empty] : []), ...profile.notes];
    if (profile.graph?.found === false) {
      notes.unshift("the frame that the address names is not in this profile: the whole is shown");
    }
    if (profile.known === false) {
      notes.unshift(`no function '${profile.function}' in this profile`);
    }
    replace(this.notes, ...notes.map((note) => h("li", null, shown(note))));
  }

  private addFlame(profile: Profile, graph: Graph, label: string, upward: boolean): void {
    const layout = layOut(graph);
    const flame: Flame = new Flame({ label: `${label}. Arrow keys walk the frames, Enter zooms.`, upward,
      describe: (row) => this.describe(graph, row),
      onSelect: (row) => this.onFrame(graph, row),
      onHover: (row) => setText(this.details, row === null ? this.present() : this.describe(graph, row)),
      onZoom: (row) => this.onZoom(flame, layout, row) });
    this.graphs.append(h("h2", { class: "graph-title" }, label), flame.element);
    flame.set(profile, layout);
    this.flames.push({ flame, layout });
  }

  private showGraphs(profile: Profile, state: route.State): void {
    const hadFocus = this.graphs.contains(document.activeElement);
    this.flames.forEach(({ flame }) => flame.destroy());
    this.flames = [];
    this.graphs.replaceChildren();
    this.name = null;
    this.lastRow = null;
    this.zoomed = (profile.graph ?? profile.callers)?.path ?? 0;
    if (profile.graph !== undefined) {
      this.addFlame(profile, profile.graph, "Flame graph", false);
    }
    if (profile.callers !== undefined && profile.callees !== undefined) {
      this.addFlame(profile, profile.callers, `Callers of ${shown(state.fn ?? "")}`, true);
      this.addFlame(profile, profile.callees, `Callees of ${shown(state.fn ?? "")}`, false);
    }
    const hidden = this.flames.reduce((sum, { layout }) => sum + layout.graph.hidden_nodes, 0);
    if (hidden > 0) {
      this.graphs.append(h("p", { class: "faint" }, `${count(hidden)} frames are narrower than a pixel or too deep, and are not drawn: zoom in to see them.`));
    }
    this.showCrumbs();
    setText(this.details, this.present());
    if (hadFocus) {
      this.flames[0]?.flame.element.focus({ preventScroll: true });
    }
  }

  /** A file contains all frames, so zooming only changes the display. */
  private zoomLocally(state: route.State): void {
    const first = this.flames[0];
    if (this.source.isWhole && first !== undefined && this.profile !== null) {
      this.zoomed = state.zoom ? rowOf(this.profile, first.layout.graph, state.zoom) : 0;
      first.flame.zoomTo(this.zoomed);
      this.showCrumbs();
    }
  }

  private showCrumbs(): void {
    const state = route.read();
    const all = h("a", { href: route.address(route.changed({ zoom: "", fn: "" })) }, "all");
    if (state.fn) {
      replace(this.crumbs, all, " › ", name(state.fn));
      return;
    }
    const first = this.flames[0]?.layout.graph;
    if (first === undefined || this.zoomed === 0 || this.profile === null) {
      this.crumbs.replaceChildren();
      return;
    }
    const profile = this.profile;
    replace(this.crumbs, all, ...ancestry(first, this.zoomed).filter((row) => first.frame[row] >= 0).flatMap((row) => [" › ",
      h("a", { href: route.address(route.changed({ zoom: keyOf(profile, first, row) })) }, name(rowName(profile, first, row)))]));
  }

  /** Describes the zoomed frame. */
  private present(): string {
    const first = this.flames[0]?.layout.graph;
    return first === undefined || first.parent.length === 0 ? "" : this.describe(first, this.lastRow ?? this.zoomed);
  }

  private describe(graph: Graph, row: number): string {
    const profile = this.profile as Profile;
    const frame = graph.frame[row];
    const whole = profile.source.shown[profile.value].total || 1;
    const parts = [`${shown(rowName(profile, graph, row))}: ${this.quantity(graph.total[row])} ± ${this.quantity(graph.error[row])}`, percent(graph.total[row] / whole)];
    if (graph.base !== undefined && graph.significance !== undefined) {
      const within = isSignificant(profile, graph.significance[row]) ? "significant" : "within the error";
      parts.push(`${signed(graph.total[row] - graph.base[row], profile.unit)} since ${this.quantity(graph.base[row])}, ${within}`);
    }
    parts.push(graph.self[row] > 0 ? `itself ${this.quantity(graph.self[row])}` : "", this.other(graph.total[row], graph.other[row]));
    if (frame >= 0) {
      const file = profile.frames.file[frame];
      parts.push(file === null ? "" : `${shown(file)}${profile.frames.line[frame] ? `:${profile.frames.line[frame]}` : ""}`, shown(profile.frames.module[frame] ?? ""));
    }
    const below = graph.hidden.row.indexOf(row);
    parts.push(below >= 0 ? `${graph.hidden.count[below]} more below it with ${this.quantity(graph.hidden.total[below])}, too small to draw` : "");
    return parts.filter((part) => part !== "").join(" · ");
  }

  /** The value displayed beside TOTAL: objects for bytes, and bytes for everything else, by which an age becomes a
   * mean. */
  private other(total: number, value: number): string {
    const unit = this.profile?.unit;
    const mean = unit === "byte-seconds" && value > 0 ? `mean ${duration(total / value)} of ` : "";
    return unit === "bytes" ? `${count(value)} objects` : mean + bytes(value);
  }

  private onFrame(graph: Graph, row: number): void {
    const frame = graph.frame[row];
    this.lastRow = row;
    this.name = frame < 0 ? null : rowName(this.profile as Profile, graph, row);
    setText(this.details, this.describe(graph, row));
    const state = route.read();
    if (state.side === "tree" && graph === this.flames[0]?.layout.graph) {
      ancestry(graph, row).slice(0, -1).forEach((above) => this.expanded.add(above));
      this.showTree(row);
    } else if (!state.side) {
      const index = this.functionRows().findIndex((at) => this.profile?.table?.frame[at] === frame);
      if (index >= 0) {
        this.grid?.setActive(index);
      }
    }
  }

  private onZoom(flame: Flame, layout: Layout, row: number): void {
    const profile = this.profile as Profile;
    flame.zoomTo(row);
    if (layout.graph === profile.graph) {
      route.apply({ zoom: keyOf(profile, layout.graph, row) });
    }
  }

  private zoomOut(): void {
    const first = this.flames[0]?.layout.graph;
    if (route.read().fn) {
      route.apply({ fn: "" });
    } else if (first !== undefined && this.zoomed > 0) {
      route.apply({ zoom: keyOf(this.profile as Profile, first, first.parent[this.zoomed]) });
    }
  }

  private withName(run: (text: string) => void): void {
    if (this.name === null) {
      shell.say("Select a frame first.");
    } else {
      run(this.name);
    }
  }

  private sandwich(text: string): void {
    if (this.source.isWhole) {
      shell.tell("Callers and callees need the dump: open it with 'jescope serve'.");
    } else {
      route.apply({ fn: text, zoom: "" });
    }
  }

  private invert(): void {
    route.apply({ callers: route.read().callers === "true" ? "" : "true", zoom: "" });
  }

  private toggleBase(): void {
    if (route.read().base) {
      route.apply({ base: "" });
    } else if (this.bases.before !== null) {
      route.apply({ base: this.bases.before });
    } else {
      shell.tell("There is no earlier dump to compare with.");
    }
  }

  private nextSide(): void {
    const ids = [...this.sides.querySelectorAll<HTMLElement>("button")].map((button) => button.dataset.side ?? "");
    const next = ids[(ids.indexOf(route.read().side ?? "functions") + 1) % ids.length];
    route.apply({ side: next === "functions" ? "" : next }, "replace");
  }

  // Shows the panel beside the graph.

  private showSide(state: route.State): void {
    const side = state.side ?? "functions";
    const asked = `${side} ${this.asked} ${state.sort ?? ""} ${side === "source" ? this.name : ""}`;
    if (asked === this.sideAsked) {
      return;
    }
    this.sideAsked = asked;
    this.sideAbort.abort();
    this.sideAbort = new AbortController();
    const views: { [id: string]: () => void | Promise<void> } = { functions: () => this.showFunctions(), tree: () => this.makeTree(), stacks: () => this.showStacks(), source: () => this.showSource() };
    this.grid = null;
    void (views[side] ?? views.functions)();
  }

  private functionRows(): number[] {
    const table = this.profile?.table;
    if (table === undefined) {
      return [];
    }
    const sort = route.read().sort ?? "flat";
    const rows = table.frame.map((_, index) => index);
    const change = (now: number[], base?: number[]) => (row: number): number => Math.abs(now[row] - (base?.[row] ?? 0));
    const value: { [sort: string]: (row: number) => number } = { flat: (row) => table.flat[row], cum: (row) => table.cum[row],
      change: change(table.flat, table.flat_base), total_change: change(table.cum, table.cum_base) };
    if (sort === "name") {
      return rows.sort((a, b) => (this.profile as Profile).frames.name[table.frame[a]].localeCompare((this.profile as Profile).frames.name[table.frame[b]]));
    }
    const of = value[sort] ?? value.flat;
    return rows.sort((a, b) => of(b) - of(a));
  }

  private showFunctions(): void {
    const profile = this.profile as Profile;
    const table = profile.table;
    if (table === undefined) {
      replace(this.side, h("p", { class: "faint" }, "This answer has no table."));
      return;
    }
    const isChange = table.flat_base !== undefined;
    const whole = profile.source.shown[profile.value].total || 1;
    const unit = BY.find(([id]) => id === profile.by)?.[1] ?? "functions";
    const title = unit[0].toUpperCase() + unit.slice(1);
    // A size class or a thread has no callers.
    const isGroup = profile.by === "size" || profile.by === "thread";
    const last = isChange ? "Change" : "Share";
    const columns: GridColumn[] = [{ title, sort: "name" },
      { title: isGroup ? "Total" : "Itself", number: true, sort: "flat" }, { title: last, number: true, narrow: !isChange, sort: isChange ? "change" : "" },
      ...isGroup ? [] : [{ title: "Total", number: true, sort: "cum" }, { title: last, number: true, narrow: !isChange, sort: isChange ? "total_change" : "" }]];
    const rows = this.functionRows();
    const change = (now: number, base: number[] | undefined, significance: number[] | undefined, index: number): Node | string => {
      const text = signed(now - (base?.[index] ?? 0), profile.unit);
      const counts = isSignificant(profile, significance?.[index] ?? 0);
      return h("span", { class: counts ? now > (base?.[index] ?? 0) ? "grown" : "shrunk" : "within" }, text);
    };
    const grid = new Grid({ label: title, role: "grid", columns,
      row: (index) => {
        const at = rows[index];
        const text = profile.frames.name[table.frame[at]];
        const flat = `${this.quantity(table.flat[at])} ± ${this.quantity(table.flat_error[at])}`;
        const callees = isGroup ? "" : `, with callees ${this.quantity(table.cum[at])} ± ${this.quantity(table.cum_error[at])}`;
        return { label: `${shown(text)}, ${isGroup ? "" : "itself "}${flat}${callees}`,
          cells: [brieflyNamed(text), h("span", { title: flat }, this.quantity(table.flat[at])), isChange ? change(table.flat[at], table.flat_base, table.flat_significance, at) : percent(table.flat[at] / whole),
            ...isGroup ? [] : [h("span", { title: `± ${this.quantity(table.cum_error[at])}` }, this.quantity(table.cum[at])), isChange ? change(table.cum[at], table.cum_base, table.cum_significance, at) : percent(table.cum[at] / whole)]] };
      },
      onSelect: (index) => this.onFunction(table.frame[rows[index]], table.cum[rows[index]], table.cum_error[rows[index]]),
      onOpen: (index) => this.sandwich(profile.frames.name[table.frame[rows[index]]]),
      onSort: (sort) => route.apply({ sort: sort === "flat" ? "" : sort }, "replace") });
    this.grid = grid;
    const rest = table.hidden.count > 0 ? h("p", { class: "faint" }, `${count(table.hidden.count)} more with ${this.quantity(table.hidden.total)} in all.`) : null;
    replace(this.side, grid.element, rest);
    grid.setSort(route.read().sort ?? "flat", route.read().sort === "name" ? "ascending" : "descending");
    grid.setCount(rows.length);
  }

  private onFunction(frame: number, total: number, error: number): void {
    const profile = this.profile as Profile;
    this.name = profile.frames.name[frame];
    this.flames.forEach(({ flame }) => flame.markFrame(frame));
    const whole = profile.source.shown[profile.value].total || 1;
    setText(this.details, `${shown(this.name)}: ${this.quantity(total)} ± ${this.quantity(error)} · ${percent(total / whole)}${profile.frames.full[frame] ? ` · ${shown(profile.frames.full[frame] ?? "")}` : ""}`);
  }

  private makeTree(): void {
    const first = this.flames[0];
    if (first === undefined) {
      replace(this.side, h("p", { class: "faint" }, "There is nothing to show."));
      return;
    }
    const { layout } = first;
    const { graph } = layout;
    this.expanded = new Set(ancestry(graph, this.zoomed));
    // The heaviest path is expanded.
    for (let row = this.zoomed, depth = 0; depth < TREE_OPEN && layout.children[row]?.length > 0; depth++) {
      this.expanded.add(row);
      row = layout.children[row][0];
    }
    const isChange = graph.base !== undefined;
    const grid = new Grid({ label: "Call tree", role: "treegrid",
      columns: [{ title: "Frame" }, { title: "Total", number: true }, { title: isChange ? "Change" : "Share", number: true, narrow: !isChange }],
      row: (index) => this.treeRow(layout, this.treeRows[index]),
      onSelect: (index) => this.onTreeRow(first.flame, graph, this.treeRows[index]),
      onOpen: (index) => this.onZoom(first.flame, layout, this.treeRows[index]),
      onExpand: (index, expand) => this.expand(layout, this.treeRows[index], expand) });
    this.grid = grid;
    replace(this.side, grid.element);
    this.showTree(this.zoomed);
  }

  private treeRow(layout: Layout, row: number): GridRow {
    const profile = this.profile as Profile;
    const { graph } = layout;
    const whole = profile.source.shown[profile.value].total || 1;
    const base = graph.base;
    const counts = base !== undefined && isSignificant(profile, graph.significance?.[row] ?? 0);
    const last = base === undefined ? percent(graph.total[row] / whole)
      : h("span", { class: counts ? graph.total[row] > base[row] ? "grown" : "shrunk" : "within" }, signed(graph.total[row] - base[row], profile.unit));
    const open = layout.children[row].length === 0 ? undefined : this.expanded.has(row);
    return { label: this.describe(graph, row), level: graph.level[row] + 1, expanded: open,
      cells: [h("span", null, h("span", { class: "twist", "aria-hidden": "true" }, open === undefined ? "" : open ? "▾" : "▸"), brieflyNamed(rowName(profile, graph, row))),
        h("span", { title: `± ${this.quantity(graph.error[row])}` }, this.quantity(graph.total[row])), last] };
  }

  private showTree(active: number): void {
    const first = this.flames[0];
    const rows: number[] = [];
    const add = (row: number): void => {
      rows.push(row);
      if (this.expanded.has(row)) {
        first.layout.children[row].forEach(add);
      }
    };
    if (first.layout.graph.parent.length > 0) {
      add(0);
    }
    this.treeRows = rows;
    const index = Math.max(0, rows.indexOf(active));
    this.grid?.setCount(rows.length, index);
    this.grid?.setActive(index);
  }

  private onTreeRow(flame: Flame, graph: Graph, row: number): void {
    this.lastRow = row;
    this.name = graph.frame[row] < 0 ? null : rowName(this.profile as Profile, graph, row);
    flame.mark(row);
    setText(this.details, this.describe(graph, row));
  }

  private expand(layout: Layout, row: number, expand: boolean): void {
    if (expand && layout.children[row].length > 0) {
      if (this.expanded.has(row)) {
        this.showTree(layout.children[row][0]);
      } else {
        this.expanded.add(row);
        this.showTree(row);
      }
    } else if (!expand && this.expanded.has(row) && layout.children[row].length > 0) {
      this.expanded.delete(row);
      this.showTree(row);
    } else if (!expand && layout.graph.parent[row] >= 0) {
      this.showTree(layout.graph.parent[row]);
    }
    const now = this.treeRows.find((at) => at === row);
    if (now !== undefined) {
      this.onTreeRow(this.flames[0].flame, layout.graph, now);
    }
  }

  private async showStacks(): Promise<void> {
    replace(this.side, h("p", { class: "faint" }, "Asking…"));
    try {
      const profile = await this.source.fetch({ ...this.query(route.read()), part: "stacks", count: 50, zoom: "", function: "" }, this.sideAbort.signal);
      const stacks = profile.stacks;
      if (stacks === undefined || stacks.total.length === 0) {
        replace(this.side, h("p", { class: "faint" }, "No stack."));
        return;
      }
      const rows = stacks.frames.map((frames, index) => {
        const isPair = profile.unit === "bytes" || profile.unit === "objects";
        const [size, objects] = profile.unit === "bytes" ? [stacks.total[index], stacks.other[index]] : [stacks.other[index], stacks.total[index]];
        const each = isPair && objects > 0 ? ` · ${count(objects)} objects, ${quantity(size / objects, "bytes")} each` : "";
        return h("li", null, h("strong", null, `${quantity(stacks.total[index], profile.unit)} ± ${quantity(stacks.error[index], profile.unit)}`), each,
          stack(frames, (frame) => h("li", null, name(profile.frames.name[frame]), h("span", { class: "faint" }, profile.frames.file[frame] === null ? ""
            : ` ${shown(profile.frames.file[frame] ?? "")}${profile.frames.line[frame] ? `:${profile.frames.line[frame]}` : ""}`))));
      });
      const rest = stacks.hidden.count > 0 ? h("p", { class: "faint" }, `${count(stacks.hidden.count)} more stacks with ${quantity(stacks.hidden.total, profile.unit)} in all.`) : null;
      replace(this.side, h("ol", { class: "stacks", tabindex: 0, "aria-label": "Heaviest stacks" }, ...rows), rest);
    } catch (error) {
      this.sideFailed(error);
    }
  }

  private sideFailed(error: unknown): void {
    if (!api.isAbort(error)) {
      replace(this.side, h("p", { role: "alert" }, ...shell.explain(error)));
    }
  }

  private async showSource(): Promise<void> {
    if (this.name === null || this.source.source === undefined) {
      replace(this.side, h("p", { class: "faint" }, "Select a function in the graph, then its source lines are shown here."));
      return;
    }
    replace(this.side, h("p", { class: "faint" }, "Asking…"));
    try {
      const text = await this.source.source({ ...this.query(route.read()), width: "", zoom: "", function: "", focus: exactly(this.name) }, this.sideAbort.signal);
      replace(this.side, h("pre", { class: "source", tabindex: 0, "aria-label": "Source lines" }, text));
    } catch (error) {
      this.sideFailed(error);
    }
  }

  // Search.

  private onSearch(): void {
    clearTimeout(this.typing);
    this.typing = window.setTimeout(() => route.apply({ q: this.search.value }, "replace"), TYPING_MS);
  }

  private async showSearch(): Promise<void> {
    const text = route.read().q ?? "";
    const names = (this.profile as Profile).frames.name;
    this.searchAbort.abort();
    this.searchAbort = new AbortController();
    const { signal } = this.searchAbort;
    setText(this.found, "");
    try {
      if (this.matched.text !== text || this.matched.names !== names) {
        this.setMatched({ text: "", names, frames: [] });
        const frames = text === "" ? [] : await matches(text, names, signal);
        if (frames === null) {
          setText(this.found, `'${shown(text)}' takes too long to match, and was ended.`);
          return;
        }
        this.setMatched({ text, names, frames });
      }
      if (text !== "") {
        await this.showShare(text, signal);
      }
    } catch (error) {
      if (error instanceof SyntaxError) {
        setText(this.found, `'${shown(text)}' is not a regular expression.`);
      } else if (!api.isAbort(error)) {
        replace(this.found, ...shell.explain(error));
      }
    }
  }

  private setMatched(matched: Matched): void {
    this.matched = matched;
    this.flames.forEach(({ flame }) => flame.setMatches((frame) => matched.frames[frame] === true));
  }

  /** The server counts the matches, since it also knows the frames that are not drawn. */
  private async showShare(text: string, signal: AbortSignal): Promise<void> {
    const profile = this.profile as Profile;
    if (this.source.isWhole) {
      setText(this.found, "Matches are highlighted.");
      return;
    }
    const query = this.query(route.read());
    if (query.focus) {
      setText(this.found, "Matches are highlighted. n and N go through them. Their share is not known while a focus is set.");
      return;
    }
    const answer = await this.source.fetch({ ...query, part: "table", count: 1, zoom: "", function: "", focus: `(?i)${text}` }, signal);
    const part = answer.source.shown[profile.value];
    const whole = profile.source.shown[profile.value].total || 1;
    setText(this.found, `${this.quantity(part.total)} ± ${this.quantity(part.error)}, ${percent(part.total / whole)} of what is shown. n and N go through the frames.`);
  }

  private nextMatch(step: 1 | -1): void {
    const first = this.flames[0];
    if (first === undefined) {
      return;
    }
    const { graph } = first.layout;
    const rows = graph.frame.map((_, row) => row).filter((row) => this.matched.frames[graph.frame[row]]);
    const at = this.lastRow === null ? -1 : rows.indexOf(this.lastRow);
    const next = rows[(at + step + rows.length) % rows.length];
    if (next !== undefined) {
      first.flame.select(next);
      shell.say(this.describe(graph, next));
    }
  }

  destroy(): void {
    clearTimeout(this.typing);
    this.abort.abort();
    this.sideAbort.abort();
    this.lineAbort.abort();
    this.searchAbort.abort();
    this.flames.forEach(({ flame }) => flame.destroy());
  }
}

/** A kept dump of a target, or one taken now. */
export function dumpSource(state: route.State): ProfileSource {
  if (state.ended !== undefined) {
    return keptSource(state.ended, state.dump ?? "latest");
  }
  const target = state.target ?? "";
  const pid = target.split(".")[0];
  const dump = state.dump ?? "latest";
  const path = api.targetPath(target, `/dumps/${api.component(dump)}`);
  return {
    title: dump === "latest" ? `Latest dump of ${pid}` : `Dump ${dump} of ${pid}`, back: { view: "target", target }, isWhole: false, bases: (of) => basesOf(target, dump, of),
    named: (profile) => `${profile.source.name}, ${dump === "latest" ? "latest dump" : `dump ${dump}`}`,
    ...reports(path), fetch: async (query, signal) => {
      const profile = await reports(path).fetch(query, signal);
      coverage.note(target, profile);
      return profile;
    },
  };
}

/** Requests for reports on the dump at PATH. */
function reports(path: string): Pick<ProfileSource, "fetch" | "source"> {
  return {
    fetch: (query, signal) => {
      const url = api.url(path, { ...query, format: "page" });
      return ahead.take(url, signal) ?? api.json<Profile>(url, { signal, max: api.PROFILE_MAX });
    },
    source: (query, signal) => api.text(api.url(path, { ...query, format: "source" }), { signal }),
  };
}

/** Other processes of the same user, those of the same name first: their dumps can be compared as well. */
async function othersOf(target: string): Promise<[string, string][]> {
  const { targets } = await api.json<{ targets: Target[] }>(api.url("/api/v1/targets", { state: "all" }));
  const own = targets.find((other) => other.id === target || other.unique === target);
  const near = (other: Target): number => Number(other.name !== own?.name);
  return targets.filter((other) => own !== undefined && other.unique !== own.unique && other.uid === own.uid)
    .sort((a, b) => near(a) - near(b) || a.name.localeCompare(b.name) || a.pid - b.pid)
    .map((other) => [other.unique, `${other.name} (${other.pid})${other.state === "live" ? "" : ", ended"}`]);
}

async function basesOf(target: string, dump: string, of: string): Promise<Bases> {
  const [{ dumps }, others] = await Promise.all([api.json<{ dumps: Dump[] }>(api.targetPath(of || target, "/dumps")), othersOf(target)]);
  const own = of !== "" ? -1 : dump === "latest" ? 0 : dumps.findIndex((other) => String(other.id) === dump);
  const before = dumps[own + 1];
  return { rows: dumps.filter((_, index) => index !== own).map((other) => [String(other.id), `dump ${other.id}, ${clock(other.taken)}`]), before: before === undefined ? null : String(before.id), others };
}

/** A file that the reader has uploaded, or that is kept. */
export function sentSource(state: route.State): ProfileSource {
  const id = state.file ?? "";
  return {
    title: "File", named: (profile) => profile.source.name, back: { view: "files" }, isWhole: false, controls: files.controls(id), bases: () => files.bases(id), ...reports(files.path(id, "/dump")),
  };
}

/** The first lines of `jescope last`: how the process ended, the share that the last profile explains, the growth since
 * the first one. */
async function lineOf(id: string, signal: AbortSignal): Promise<string> {
  const path = `/api/v1/blackbox/${api.component(id)}`;
  const life = await api.json<Life>(path, { signal });
  const dumps = life.snapshots.filter((snapshot) => snapshot.dump !== null);
  if (dumps.length === 0) {
    return life.summary;
  }
  const first = dumps[0], last = dumps[dumps.length - 1];
  const query = { format: "headline", base: first === last ? null : first.number };
  const told = (await api.text(api.url(`${path}/dumps/${last.number}`, query), { signal })).trim();
  const time = told.includes("grew most") && first.time !== null && last.time !== null ? ` in ${duration((Date.parse(last.time) - Date.parse(first.time)) / 1000)}` : "";
  return shown(`${life.summary}, ${told}${time}`);
}

/** For a process in the black box. */
function keptSource(id: string, dump: string): ProfileSource {
  const path = `/api/v1/blackbox/${api.component(id)}/dumps/${api.component(dump)}`;
  return { title: `Snapshot ${dump} of ${id.split(".")[0]}`, back: { view: "ended" }, isWhole: false, line: (signal) => lineOf(id, signal), ...reports(path) };
}

/** The only profile of a page from a file. */
export function fileSource(profile: Profile): ProfileSource {
  return { title: profile.source.name, back: {}, isWhole: true, fetch: () => Promise.resolve(profile) };
}
