// SPDX-License-Identifier: Apache-2.0
// A flame graph on a canvas as large as its window: only what is visible is drawn. Screen readers have the tree
// instead, and announce the frame that the keys select.
import { brief, h, visible } from "./dom";
import { isSignificant, type Layout, type Profile, rowName } from "./profile-data";
import * as shell from "./shell";
import { CLEAR, hex, hsl, mix, type Pixel, Strip } from "./strip";

const ROW = 20;
const TEXT_MIN = 28;
const PADDING = 4;
const STEPS = 16;

export interface FlameOptions {
  label: string;
  upward: boolean; // the root is at the bottom, as for callers
  describe(row: number): string;
  onSelect(row: number): void;
  onHover(row: number | null): void;
  onZoom(row: number): void;
}

/** The colours of boxes. */
interface Paint {
  back: Pixel;
  dim: Pixel;
  match: Pixel;
  grown: Pixel[]; // by strength, STEPS + 1 of them
  shrunk: Pixel[];
  fills: Pixel[]; // per frame
}

/** A visible level. */
interface Drawn {
  y: number;
  rows: number[];
}

interface Colours {
  back: string;
  text: string;
  dim: string;
  match: string;
  grey: string;
  rule: string;
  isDark: boolean;
}

const isDark = (): boolean => document.documentElement.dataset.theme === "dark" ||
  document.documentElement.dataset.theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches;

const colours = (): Colours => isDark()
  ? { back: "#0f1318", text: "#f0f4f8", dim: "#2b333d", match: "#a8790a", grey: "#3b4450", rule: "#0f1318", isDark: true }
  : { back: "#ffffff", text: "#16191d", dim: "#e3e7eb", match: "#ffd43b", grey: "#d9dde2", rule: "#ffffff", isDark: false };

function hueOf(text: string): number {
  let hash = 7;
  for (let index = 0; index < text.length; index++) {
    hash = hash * 31 + text.charCodeAt(index) | 0;
  }
  return (hash >>> 0) % 360;
}

export class Flame {
  readonly element: HTMLElement;
  private readonly canvas = h("canvas", { "aria-hidden": "true" });
  private readonly spacer = h("div", { class: "spacer" });
  private profile: Profile | null = null;
  private layout: Layout | null = null;
  private zoom = 0;
  private selected = 0;
  private frame = -2; // all rows of this frame are highlighted
  private matches: (frame: number) => boolean = () => false;
  private pending = 0;
  private paint: Paint = { back: 0, dim: 0, match: 0, grown: [], shrunk: [], fills: [] };
  private readonly boxes = new Strip();
  private readonly rests = new Strip();
  private readonly texts = new Map<number, { room: number; text: string }>(); // measured widths of names
  private width = 0; // at the last drawing
  private hatch: CanvasPattern | null = null;
  private colours = colours();
  private readonly observer: ResizeObserver;
  private readonly endTheme: () => void;

  constructor(private readonly options: FlameOptions) {
    this.element = h("div", { class: `flame${options.upward ? " upward" : ""}`, tabindex: 0, role: "group", "aria-label": options.label,
      onkeydown: (event: KeyboardEvent) => this.onKey(event) }, this.spacer);
    this.spacer.appendChild(this.canvas);
    this.element.addEventListener("scroll", () => this.redraw());
    this.canvas.addEventListener("mousemove", (event) => options.onHover(this.rowAt(event)));
    this.canvas.addEventListener("mouseleave", () => options.onHover(null));
    this.canvas.addEventListener("click", (event) => {
      const row = this.rowAt(event);
      if (row !== null) {
        this.select(row);
        options.onZoom(row);
      }
    });
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.element);
    this.endTheme = shell.onTheme(() => this.recolour());
  }

  set(profile: Profile, layout: Layout): void {
    this.profile = profile;
    this.layout = layout;
    this.texts.clear();
    this.zoom = layout.graph.path;
    this.selected = this.zoom;
    this.spacer.style.height = `${layout.levels.length * ROW}px`;
    this.recolour();
    if (this.options.upward) {
      this.element.scrollTop = this.element.scrollHeight;
    }
  }

  private recolour(): void {
    this.colours = colours();
    const { isDark: dark, grey } = this.colours;
    const modules = this.profile?.frames.module ?? [];
    const strengths = Array.from({ length: STEPS + 1 }, (_, step) => dark ? 20 + 22 * step / STEPS : 92 - 32 * step / STEPS);
    this.paint = { back: hex(this.colours.back), dim: hex(this.colours.dim), match: hex(this.colours.match),
      grown: strengths.map((light) => hsl(26, 90, light)), shrunk: strengths.map((light) => hsl(208, 80, light)),
      fills: modules.map((module, frame) => {
        const origin = this.profile?.frames.origin[frame] ?? 0;
        return hsl(hueOf(module ?? ""), origin === 0 ? 62 : origin === 3 ? 8 : 32, dark ? 30 : 80);
      }) };
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    if (pen !== null) {
      pen.fillStyle = grey;
      pen.fillRect(0, 0, 6, 6);
      pen.strokeStyle = dark ? "#6b7683" : "#a3abb4";
      pen.beginPath();
      pen.moveTo(0, 6);
      pen.lineTo(6, 0);
      pen.stroke();
      this.hatch = pen.createPattern(tile, "repeat");
    }
    this.redraw();
  }

  /** Zooms to an existing row, until more detailed data arrives. */
  zoomTo(row: number): void {
    this.zoom = row;
    this.redraw();
  }

  select(row: number): void {
    this.selected = row;
    this.reveal(row);
    this.redraw();
    this.options.onSelect(row);
  }

  /** Selects without notifying. */
  mark(row: number): void {
    this.selected = row;
    this.reveal(row);
    this.redraw();
  }

  markFrame(frame: number): void {
    this.frame = frame;
    this.redraw();
  }

  setMatches(matches: (frame: number) => boolean): void {
    this.matches = matches;
    this.redraw();
  }

  private reveal(row: number): void {
    const y = this.y(this.layout?.graph.level[row] ?? 0);
    if (y < this.element.scrollTop) {
      this.element.scrollTop = y;
    } else if (y + ROW > this.element.scrollTop + this.element.clientHeight) {
      this.element.scrollTop = y + ROW - this.element.clientHeight;
    }
  }

  private y(level: number): number {
    return (this.options.upward ? (this.layout?.levels.length ?? 1) - 1 - level : level) * ROW;
  }

  /** The start and width of a row in pixels. Its ancestors are as wide as the zoomed row. */
  private place(row: number): [number, number] {
    const { x, extent, graph } = this.layout as Layout;
    if (graph.level[row] <= graph.level[this.zoom]) {
      return [0, this.width];
    }
    const scale = this.width / (extent[this.zoom] || 1);
    return [(x[row] - x[this.zoom]) * scale, extent[row] * scale];
  }

  /** The rows of LEVEL that are inside the zoomed one. */
  private rowsOf(level: number): number[] {
    const { levels, x, extent, graph } = this.layout as Layout;
    const rows = levels[level] ?? [];
    const [begin, end] = [x[this.zoom], x[this.zoom] + extent[this.zoom]];
    if (level <= graph.level[this.zoom]) {
      let at = this.zoom;
      while (graph.level[at] > level) {
        at = graph.parent[at];
      }
      return [at];
    }
    let low = 0;
    let high = rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[rows[middle]] + extent[rows[middle]] <= begin) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    let last = low;
    while (last < rows.length && x[rows[last]] < end) {
      last++;
    }
    return rows.slice(low, last);
  }

  private rowAt(event: MouseEvent): number | null {
    if (this.layout === null) {
      return null;
    }
    const box = this.canvas.getBoundingClientRect();
    const line = Math.floor((event.clientY - box.top + this.element.scrollTop) / ROW);
    const level = this.options.upward ? this.layout.levels.length - 1 - line : line;
    const pixel = event.clientX - box.left;
    return this.rowsOf(level).find((row) => {
      const [begin, width] = this.place(row);
      return pixel >= begin && pixel < begin + Math.max(1, width);
    }) ?? null;
  }

  redraw(): void {
    if (this.pending === 0) {
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.draw();
      });
    }
  }

  /** CLEAR: hatched. */
  private fillOf(row: number): Pixel {
    const { graph, extent } = this.layout as Layout;
    const profile = this.profile as Profile;
    const { paint } = this;
    const frame = graph.frame[row];
    if (frame >= 0 && this.matches(frame)) {
      return paint.match;
    }
    if (graph.base !== undefined && graph.significance !== undefined) {
      if (!isSignificant(profile, graph.significance[row])) {
        return CLEAR;
      }
      const change = (graph.total[row] - graph.base[row]) / (extent[row] || 1);
      const step = Math.round(Math.min(1, 0.25 + Math.abs(change) * 0.75) * STEPS);
      return (change > 0 ? paint.grown : paint.shrunk)[step];
    }
    return frame < 0 ? paint.dim : paint.fills[frame];
  }

  private draw(): void {
    const pen = this.canvas.getContext("2d");
    const [width, height] = [this.element.clientWidth, this.element.clientHeight];
    if (pen === null || this.layout === null || this.profile === null || width === 0) {
      return;
    }
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const top = this.element.scrollTop;
    const first = Math.floor(top / ROW);
    const levels: Drawn[] = [];
    for (let line = first; line * ROW < top + height; line++) {
      const level = this.options.upward ? this.layout.levels.length - 1 - line : line;
      if (level >= 0 && level < this.layout.levels.length) {
        levels.push({ y: line * ROW - top, rows: this.rowsOf(level) });
      }
    }
    this.width = width;
    this.drawBoxes(pen, levels, ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (const { y, rows } of levels) {
      rows.forEach((row) => this.drawMarks(pen, row, y));
    }
  }

  /** Draws everything but text, in device pixels. */
  private drawBoxes(pen: CanvasRenderingContext2D, levels: Drawn[], ratio: number): void {
    const { graph, hidden } = this.layout as Layout;
    const { boxes, rests, paint } = this;
    boxes.begin(this.canvas.width, levels.length, paint.back);
    rests.begin(this.canvas.width, levels.length, CLEAR);
    levels.forEach(({ rows }, line) => rows.forEach((row) => {
      const [x, width] = this.place(row);
      const begin = Math.round(x * ratio);
      const end = Math.max(begin + 1, Math.round((x + width) * ratio) - (width > 3 ? Math.max(1, Math.round(ratio)) : 0));
      const colour = this.fillOf(row);
      boxes.fill(line, begin, end, colour !== CLEAR && graph.level[row] < graph.level[this.zoom] ? mix(colour, paint.back, 0.55) : colour);
      if (hidden.has(row) && graph.level[row] >= graph.level[this.zoom]) {
        const [from, to] = this.restOf(row, x);
        rests.fill(line, Math.round(from * ratio), Math.max(Math.round(from * ratio) + 1, Math.round(to * ratio)), paint.dim);
      }
    }));
    boxes.finish();
    rests.finish();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.imageSmoothingEnabled = false;
    const height = Math.round(ROW * ratio), quarter = Math.round(height / 4);
    const begins = levels.map(({ y }) => Math.round(y * ratio));
    pen.fillStyle = graph.base === undefined ? this.colours.back : this.hatch ?? this.colours.grey;
    pen.fillRect(0, 0, this.canvas.width, this.canvas.height);
    begins.forEach((begin, line) => boxes.stretch(pen, line, begin, height - 1));
    this.drawRules(pen, begins, height);
    begins.forEach((begin, line) => rests.stretch(pen, line, this.options.upward ? begin - quarter : begin + height, quarter - 1));
  }

  /** Lines between the levels, and where there are no boxes. */
  private drawRules(pen: CanvasRenderingContext2D, begins: number[], height: number): void {
    pen.fillStyle = this.colours.back;
    begins.forEach((begin) => pen.fillRect(0, begin + height - 1, this.canvas.width, 1));
    const end = begins.length > 0 ? begins[begins.length - 1] + height : 0;
    pen.fillRect(0, end, this.canvas.width, Math.max(0, this.canvas.height - end));
    pen.fillRect(0, 0, this.canvas.width, Math.max(0, begins[0] ?? 0));
  }

  /** The position of the omitted children of ROW, which begins at X. */
  private restOf(row: number, x: number): [number, number] {
    const { hidden, children, extent } = this.layout as Layout;
    const scale = this.width / (extent[this.zoom] || 1);
    const begin = x + children[row].reduce((sum, child) => sum + extent[child], 0) * scale;
    return [begin, begin + (hidden.get(row)?.total ?? 0) * scale];
  }

  /** The name of ROW, and its outline if it is highlighted. */
  private drawMarks(pen: CanvasRenderingContext2D, row: number, y: number): void {
    const { graph } = this.layout as Layout;
    const [x, width] = this.place(row);
    if (row === this.selected || this.frame >= 0 && graph.frame[row] === this.frame) {
      pen.strokeStyle = this.colours.text;
      pen.lineWidth = row === this.selected ? 2 : 1;
      pen.strokeRect(x + 1, y + 1, Math.max(1, width - 3), ROW - 3);
    }
    if (width >= TEXT_MIN) {
      const text = this.fitting(pen, row, Math.min(width, this.width - x) - 2 * PADDING);
      if (text !== "") {
        pen.fillStyle = this.colours.text;
        pen.fillText(text, x + PADDING, y + ROW / 2);
      }
    }
  }

  /** The part of the name of ROW that fits in ROOM pixels; "": too short to read. */
  private fitting(pen: CanvasRenderingContext2D, row: number, room: number): string {
    const known = this.texts.get(row);
    if (known?.room === room) {
      return known.text;
    }
    const whole = visible(brief(rowName(this.profile as Profile, (this.layout as Layout).graph, row)).slice(0, Math.ceil(room / 3)));
    let end = whole.length;
    let size = pen.measureText(whole).width;
    while (size > room && end > 0) {
      end = Math.min(end - 1, Math.floor(end * room / size));
      size = pen.measureText(`${whole.slice(0, end)}…`).width;
    }
    const text = end === whole.length ? whole : end > 2 ? `${whole.slice(0, end)}…` : "";
    this.texts.set(row, { room, text });
    return text;
  }

  /** The nearest row beside ROW at its level. */
  private neighbour(row: number, step: 1 | -1): number | undefined {
    const rows = this.rowsOf((this.layout as Layout).graph.level[row]);
    return rows[rows.indexOf(row) + step];
  }

  private onKey(event: KeyboardEvent): void {
    if (this.layout === null || event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    const { graph, children } = this.layout;
    const inward = this.options.upward ? "ArrowUp" : "ArrowDown";
    const outward = this.options.upward ? "ArrowDown" : "ArrowUp";
    const heaviest = children[this.selected].find((child) => this.rowsOf(graph.level[child]).includes(child));
    const moves: { [key: string]: () => number | undefined } = {
      [inward]: () => heaviest,
      [outward]: () => graph.parent[this.selected] >= 0 ? graph.parent[this.selected] : undefined,
      ArrowLeft: () => this.neighbour(this.selected, -1),
      ArrowRight: () => this.neighbour(this.selected, 1),
      Home: () => 0,
    };
    if (event.key === "Enter") {
      event.preventDefault();
      this.options.onZoom(this.selected);
    } else if (event.key in moves) {
      event.preventDefault();
      const row = moves[event.key]();
      if (row !== undefined) {
        this.select(row);
        shell.say(this.options.describe(row));
      }
    }
  }

  destroy(): void {
    this.observer.disconnect();
    this.endTheme();
    cancelAnimationFrame(this.pending);
  }
}
