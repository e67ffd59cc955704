// SPDX-License-Identifier: Apache-2.0
// Arenas against size classes: where the memory is, and which slabs are half empty.
import { h, replace, setText } from "./dom";
import { bytes, count } from "./format";
import * as shell from "./shell";

/** The used members of jemalloc's statistics. */
export interface Statistics {
  jemalloc: {
    arenas: { bin: { size: number; nregs: number; slab_size: number }[]; lextent: { size: number }[] };
    "stats.arenas": { [arena: string]: ArenaStatistics };
  };
}

interface ArenaStatistics {
  bins?: { curregs?: number; curslabs?: number }[];
  lextents?: { curlextents?: number }[];
}

interface Cell {
  size: number;
  used: number; // bytes
  objects: number;
  unused: number; // bytes of free regions in slabs
}

const LEVELS = 8;
const ROWS_MAX = 64;
// A process may say that it has any number of them: jemalloc has at most 4095 arenas and about 235 classes.
const CELLS_MAX = 1 << 20;
const COLUMNS_MAX = 256;

export type HeatValue = "used" | "unused";

const cellCount = (classes: unknown[] = []): number => Math.min(classes.length, COLUMNS_MAX);

function cellsOf(statistics: Statistics, arena: ArenaStatistics): Cell[] {
  const { bin, lextent } = statistics.jemalloc.arenas;
  const small = (arena.bins ?? []).slice(0, COLUMNS_MAX).map((now, index): Cell => {
    const objects = now.curregs ?? 0;
    const free = (now.curslabs ?? 0) * bin[index].nregs - objects;
    return { size: bin[index].size, used: objects * bin[index].size, objects, unused: Math.max(0, free) * bin[index].size };
  });
  const large = (arena.lextents ?? []).slice(0, COLUMNS_MAX).map((now, index): Cell => {
    const objects = now.curlextents ?? 0;
    return { size: lextent[index].size, used: objects * lextent[index].size, objects, unused: 0 };
  });
  return [...small, ...large];
}

const sum = (cells: Cell[], value: HeatValue): number => cells.reduce((total, cell) => total + cell[value], 0);

export class HeatMap {
  readonly element: HTMLElement;
  private readonly table = h("table", { class: "heat", role: "grid", "aria-label": "Arenas and size classes", onkeydown: (event: KeyboardEvent) => this.onKey(event) });
  private readonly readout = h("p", { class: "readout" });
  private readonly hidden = h("p", { class: "faint" });
  private value: HeatValue = "used";
  private statistics: Statistics | null = null;
  private failure: unknown = null;
  private cells: HTMLElement[][] = [];
  private at: [number, number] = [0, 0];

  constructor() {
    const choice = (value: HeatValue, text: string): HTMLElement => h("label", null,
      h("input", { type: "radio", name: "heat", checked: value === this.value, onchange: () => this.choose(value) }), ` ${text} `);
    this.element = h("div", null, h("div", { class: "bar", role: "group", "aria-label": "Value" }, choice("used", "in use"), choice("unused", "free in slabs")),
      h("div", { class: "scroll" }, this.table), this.readout, this.hidden);
  }

  private choose(value: HeatValue): void {
    this.value = value;
    this.draw();
  }

  set(statistics: Statistics): void {
    this.statistics = statistics;
    this.draw();
  }

  fail(error: unknown): void {
    if (this.failure !== error) {
      this.failure = error; // drawn once, so that its button keeps the focus
      replace(this.hidden, ...shell.explain(error));
    }
  }

  private draw(): void {
    if (this.statistics === null) {
      return;
    }
    const hadFocus = this.table.contains(document.activeElement);
    const statistics = this.statistics;
    let left = CELLS_MAX;
    const all = Object.entries(statistics.jemalloc["stats.arenas"]).filter(([arena, { bins, lextents }]) => /^\d+$/.test(arena) && (left -= cellCount(bins) + cellCount(lextents)) >= 0)
      .map(([arena, figures]) => ({ arena, cells: cellsOf(statistics, figures) }))
      .filter((row) => sum(row.cells, "used") + sum(row.cells, "unused") > 0);
    const rows = [...all].sort((a, b) => sum(b.cells, this.value) - sum(a.cells, this.value)).slice(0, ROWS_MAX)
      .sort((a, b) => Number(a.arena) - Number(b.arena));
    const classes = (rows[0]?.cells ?? []).map((_, index) => index).filter((index) => rows.some((row) => row.cells[index].used + row.cells[index].unused > 0)).slice(0, COLUMNS_MAX);
    const most = Math.max(1, ...rows.flatMap((row) => classes.map((index) => row.cells[index][this.value])));
    this.cells = rows.map((row, y) => classes.map((index, x) => this.cell(row, index, most, [y, x])));
    const head = h("tr", null, h("th", { scope: "col" }, "Arena"), ...classes.map((index) => h("th", { scope: "col" }, h("span", null, bytes(rows[0].cells[index].size)))));
    replace(this.table, h("thead", null, head), h("tbody", null, ...rows.map((row, y) => h("tr", null, h("th", { scope: "row" }, row.arena), ...this.cells[y]))));
    this.at = [Math.min(this.at[0], rows.length - 1), Math.min(this.at[1], classes.length - 1)];
    const first = this.cells[this.at[0]]?.[this.at[1]];
    first?.setAttribute("tabindex", "0");
    if (hadFocus) {
      first?.focus();
    }
    const more = all.length - rows.length;
    setText(this.hidden, rows.length === 0 ? "This jemalloc has no statistics of size classes." : more > 0 ? `${more} further arenas hold less and are not shown.` : "");
  }

  private cell(row: { arena: string; cells: Cell[] }, index: number, most: number, at: [number, number]): HTMLElement {
    const cell = row.cells[index];
    const value = cell[this.value];
    const level = value === 0 ? 0 : Math.max(1, Math.round(LEVELS * (1 + Math.log10(value / most) / 4)));
    const unused = cell.unused > 0 ? `, ${bytes(cell.unused)} free in its slabs` : "";
    const text = `arena ${row.arena}, class ${bytes(cell.size)}: ${count(cell.objects)} objects, ${bytes(cell.used)}${unused}`;
    const look = (): void => setText(this.readout, text);
    return h("td", { class: `heat${level}`, tabindex: -1, "aria-label": text, onmouseenter: look, onfocus: () => {
      this.at = at;
      look();
    } });
  }

  private onKey(event: KeyboardEvent): void {
    const step: { [key: string]: [number, number] } = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const move = step[event.key];
    const next = move === undefined ? undefined : this.cells[this.at[0] + move[0]]?.[this.at[1] + move[1]];
    if (next !== undefined) {
      event.preventDefault();
      this.cells[this.at[0]][this.at[1]].tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      shell.say(this.readout.textContent ?? "");
    }
  }
}
