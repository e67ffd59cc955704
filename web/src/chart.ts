// SPDX-License-Identifier: Apache-2.0
// A line chart over time with events as marks. Dragging, or + and -, zooms; the readout below shows the values under
// the cursor.
import { h, replace, setText, svg } from "./dom";
import { bytes, clock, moment, quantity } from "./format";
import * as shell from "./shell";

export interface Line {
  label: string;
  points: [number, number | null][];
}

export interface Mark {
  time: number;
  letter: string;
  text: string;
}

export interface ChartOptions {
  label: string;
  unit: string;
  /** The reader selected this span of seconds; null: everything. */
  onZoom(span: [number, number] | null): void;
}

const HEIGHT = 220;
const LEFT = 72;
const RIGHT = 12;
const TOP = 20;
const BOTTOM = 24;
const LETTER = 11; // pixels of a mark's letter
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

/** A step of the value axis: 1, 2 or 5 times a power of ten, or of two for bytes. */
function valueStep(range: number, unit: string): number {
  const wanted = range / 4 || 1;
  if (unit === "bytes") {
    return 2 ** Math.max(0, Math.ceil(Math.log2(wanted)));
  }
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * ([1, 2, 5].find((factor) => factor * power >= wanted) ?? 10);
}

export class Chart {
  readonly element: HTMLElement;
  private readonly area: SVGElement = svg("svg", { class: "chart", "aria-hidden": "true" });
  private readonly readout = h("p", { class: "readout" });
  private readonly legend = h("ul", { class: "legend" });
  private readonly stage: HTMLElement;
  private lines: Line[] = [];
  private marks: Mark[] = [];
  private span: [number, number] = [0, 1];
  private top = 1;
  private width = 600;
  private cursor: number | null = null;
  private dragFrom: number | null = null;
  private readonly observer: ResizeObserver;

  constructor(private readonly options: ChartOptions) {
    this.stage = h("div", { class: "stage", tabindex: 0, role: "group", onkeydown: (event: KeyboardEvent) => this.onKey(event),
      "aria-label": `${options.label}. Left and Right move the cursor, plus and minus zoom, 0 shows all.` }, this.area);
    this.element = h("figure", { class: "figure" }, h("figcaption", null, options.label, this.legend), this.stage, this.readout);
    this.stage.addEventListener("pointerdown", (event) => this.onDown(event));
    this.stage.addEventListener("pointermove", (event) => this.onMove(event));
    this.stage.addEventListener("pointerup", (event) => this.onUp(event));
    this.stage.addEventListener("pointerleave", () => this.setCursor(null));
    this.stage.addEventListener("dblclick", () => options.onZoom(null));
    this.observer = new ResizeObserver(() => {
      this.width = this.stage.clientWidth || this.width;
      this.draw();
    });
    this.observer.observe(this.stage);
  }

  set(lines: Line[], marks: Mark[], span: [number, number]): void {
    this.lines = lines;
    this.marks = marks;
    this.span = span;
    const values = lines.flatMap((line) => line.points.map((point) => point[1] ?? 0));
    this.top = values.reduce((most, value) => Math.max(most, value), 0) * 1.05 || 1;
    replace(this.legend, ...lines.map((line, index) => h("li", null,
      svg("svg", { width: 24, height: 10, "aria-hidden": "true" }, svg("path", { d: "M0 5H24", class: `line line${index}` })), ` ${line.label}`)));
    this.draw();
    this.showReadout();
  }

  private x(time: number): number {
    return LEFT + (time - this.span[0]) / (this.span[1] - this.span[0]) * (this.width - LEFT - RIGHT);
  }

  private y(value: number): number {
    return HEIGHT - BOTTOM - value / this.top * (HEIGHT - TOP - BOTTOM);
  }

  private timeAt(event: PointerEvent): number {
    const x = event.clientX - this.stage.getBoundingClientRect().left;
    const share = Math.min(1, Math.max(0, (x - LEFT) / (this.width - LEFT - RIGHT)));
    return this.span[0] + share * (this.span[1] - this.span[0]);
  }

  private onDown(event: PointerEvent): void {
    if (event.button === 0) {
      this.dragFrom = this.timeAt(event);
      this.stage.setPointerCapture(event.pointerId);
    }
  }

  private onMove(event: PointerEvent): void {
    this.setCursor(this.timeAt(event));
  }

  private onUp(event: PointerEvent): void {
    const from = this.dragFrom;
    const to = this.timeAt(event);
    this.dragFrom = null;
    if (from !== null && Math.abs(this.x(from) - this.x(to)) > 8) {
      this.options.onZoom([Math.min(from, to), Math.max(from, to)]);
    }
  }

  private onKey(event: KeyboardEvent): void {
    const [begin, end] = this.span;
    const middle = this.cursor ?? (begin + end) / 2;
    const size = end - begin;
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const step = size / 60 * (event.key === "ArrowLeft" ? -1 : 1);
      this.setCursor(Math.min(end, Math.max(begin, this.cursor === null ? end : this.cursor + step)));
      shell.say(this.readout.textContent ?? "");
    } else if (event.key === "+" || event.key === "=") {
      this.options.onZoom([middle - size / 4, middle + size / 4]);
    } else if (event.key === "-") {
      this.options.onZoom([middle - size, Math.min(Date.now() / 1000, middle + size)]);
    } else if (event.key === "0") {
      this.options.onZoom(null);
    } else {
      return;
    }
    event.preventDefault();
  }

  private setCursor(time: number | null): void {
    this.cursor = time;
    this.draw();
    this.showReadout();
  }

  private showReadout(): void {
    const time = this.cursor ?? this.span[1];
    const values = this.lines.map((line) => {
      const before = line.points.filter((point) => point[0] <= time && point[1] !== null);
      const last = before[before.length - 1] as [number, number] | undefined;
      return last === undefined ? "" : `${line.label} ${quantity(last[1], this.options.unit)}`;
    }).filter((text) => text !== "");
    const near = this.marks.filter((mark) => this.cursor !== null && Math.abs(this.x(mark.time) - this.x(time)) < 6);
    setText(this.readout, values.length === 0 && near.length === 0 ? "No sample at this time."
      : [`${this.cursor === null ? "Latest" : moment(time)}: ${values.join(", ")}`, ...near.map((mark) => `${clock(mark.time)} ${mark.text}`)].join(" · "));
  }

  /** A gap, such as a restart or an outage, interrupts the line. */
  private path(line: Line): string {
    const times = line.points.map((point) => point[0]);
    const gaps = times.slice(1).map((time, index) => time - times[index]).sort((a, b) => a - b);
    const usual = gaps[Math.floor(gaps.length / 2)] ?? 0;
    let text = "";
    let last: number | null = null;
    for (const [time, value] of line.points) {
      if (value !== null) {
        text += `${last === null || time - last > usual * 3 + 1 ? "M" : "L"}${this.x(time).toFixed(1)} ${this.y(value).toFixed(1)}`;
        last = time;
      }
    }
    return text;
  }

  private axes(): SVGElement[] {
    const parts: SVGElement[] = [];
    const step = valueStep(this.top, this.options.unit);
    for (let value = 0; value <= this.top; value += step) {
      const y = this.y(value);
      parts.push(svg("path", { class: "rule", d: `M${LEFT} ${y}H${this.width - RIGHT}` }),
        svg("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, this.options.unit === "bytes" ? bytes(value) : quantity(value, this.options.unit)));
    }
    const size = this.span[1] - this.span[0];
    const wanted = size / Math.max(2, (this.width - LEFT) / 110);
    const every = STEPS.find((candidate) => candidate >= wanted) ?? Math.ceil(wanted / 604800) * 604800;
    const zone = new Date(this.span[0] * 1000).getTimezoneOffset() * 60;
    for (let time = Math.ceil((this.span[0] - zone) / every) * every + zone; time <= this.span[1]; time += every) {
      const text = every >= 86400 ? moment(time).slice(5, 10) : every >= 60 ? clock(time).slice(0, 5) : clock(time);
      parts.push(svg("path", { class: "rule", d: `M${this.x(time)} ${HEIGHT - BOTTOM}v4` }),
        svg("text", { x: this.x(time), y: HEIGHT - 6, "text-anchor": "middle" }, text));
    }
    return parts;
  }

  private draw(): void {
    this.area.setAttribute("viewBox", `0 0 ${this.width} ${HEIGHT}`);
    this.area.setAttribute("width", String(this.width));
    this.area.setAttribute("height", String(HEIGHT));
    let last = -Infinity; // letters of the same moment are side by side
    const marks = this.marks.filter((mark) => mark.time >= this.span[0] && mark.time <= this.span[1]).sort((a, b) => a.time - b.time).flatMap((mark) => [
      svg("path", { class: "mark", d: `M${this.x(mark.time)} ${TOP}V${HEIGHT - BOTTOM}` }),
      svg("text", { class: "mark", x: last = Math.max(this.x(mark.time), last + LETTER), y: TOP - 6, "text-anchor": "middle" }, mark.letter, svg("title", {}, `${clock(mark.time)} ${mark.text}`))]);
    const lines = this.lines.map((line, index) => svg("path", { class: `line line${index}`, d: this.path(line) }));
    const cursor = this.cursor === null ? [] : [svg("path", { class: "cursor", d: `M${this.x(this.cursor)} ${TOP}V${HEIGHT - BOTTOM}` })];
    if (this.dragFrom !== null && this.cursor !== null) {
      const [from, to] = [this.x(this.dragFrom), this.x(this.cursor)].sort((a, b) => a - b);
      cursor.push(svg("rect", { class: "chosen", x: from, y: TOP, width: to - from, height: HEIGHT - TOP - BOTTOM }));
    }
    this.area.replaceChildren(...this.axes(), ...lines, ...marks, ...cursor);
  }

  destroy(): void {
    this.observer.disconnect();
  }
}
