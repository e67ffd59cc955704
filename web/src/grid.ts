// SPDX-License-Identifier: Apache-2.0
// A table of many rows, of which only the visible ones are in the document. It has a roving focus: one row has it,
// arrow keys move it.
import { type Child, h, replace, setAttribute } from "./dom";

const ROW = 26;
const SPARE = 8;

export interface GridColumn {
  title: string;
  number?: boolean;
  narrow?: boolean; // a share
  sort?: string; // the column can be sorted; "" or absent: it cannot
}

export interface GridRow {
  cells: Child[];
  className?: string;
  level?: number; // in a tree, from 1
  expanded?: boolean; // undefined: it has no children
  label: string; // for screen readers
}

export interface GridOptions {
  label: string;
  role: "grid" | "treegrid";
  columns: GridColumn[];
  row(index: number): GridRow;
  onSelect(index: number): void;
  onOpen(index: number): void;
  onSort?(sort: string): void;
  /** Left and Right in a tree. */
  onExpand?(index: number, expand: boolean): void;
}

export class Grid {
  readonly element: HTMLElement;
  private readonly body = h("div", { class: "rows", role: "rowgroup" });
  private readonly view = h("div", { class: "window", role: "presentation" });
  private readonly heads: HTMLElement[];
  private readonly shown = new Map<number, HTMLElement>();
  private count = 0;
  private active = 0;

  constructor(private readonly options: GridOptions) {
    this.heads = options.columns.map((column) => h("div", { role: "columnheader", class: column.number ? "number" : "wide-cell" },
      column.sort ? h("button", { class: "sort", onclick: () => options.onSort?.(column.sort ?? "") }, column.title) : column.title));
    const head = h("div", { class: "grid-row grid-head", role: "row", "aria-rowindex": 1 }, ...this.heads);
    this.element = h("div", { class: "grid", role: options.role, "aria-label": options.label, "aria-colcount": options.columns.length, onkeydown: (event: KeyboardEvent) => this.onKey(event) },
      h("div", { role: "rowgroup" }, head), this.view);
    this.view.appendChild(this.body);
    this.view.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.view);
    this.element.style.setProperty("--columns", options.columns.map((column) => !column.number ? "minmax(0, 1fr)" : column.narrow ? "3.7rem" : "5rem").join(" "));
  }

  setSort(sort: string, direction: "ascending" | "descending"): void {
    this.options.columns.forEach((column, index) => setAttribute(this.heads[index], "aria-sort", column.sort && column.sort === sort ? direction : null));
  }

  /** Sets the number of rows to COUNT, and the focus to row ACTIVE. */
  setCount(count: number, active = 0): void {
    const hadFocus = this.body.contains(document.activeElement);
    this.count = count;
    this.active = Math.max(0, Math.min(active, count - 1));
    this.shown.clear();
    this.body.replaceChildren();
    this.body.style.height = `${count * ROW}px`;
    setAttribute(this.element, "aria-rowcount", count + 1);
    this.draw();
    if (hadFocus) {
      this.shown.get(this.active)?.focus();
    }
  }

  setActive(index: number): void {
    this.shown.get(this.active)?.setAttribute("tabindex", "-1");
    this.shown.get(this.active)?.setAttribute("aria-selected", "false");
    this.active = index;
    this.reveal();
    this.draw();
    this.shown.get(index)?.setAttribute("tabindex", "0");
    this.shown.get(index)?.setAttribute("aria-selected", "true");
  }

  private reveal(): void {
    const y = this.active * ROW;
    if (y < this.view.scrollTop) {
      this.view.scrollTop = y;
    } else if (y + ROW > this.view.scrollTop + this.view.clientHeight) {
      this.view.scrollTop = y + ROW - this.view.clientHeight;
    }
  }

  private draw(): void {
    const first = Math.max(0, Math.floor(this.view.scrollTop / ROW) - SPARE);
    const last = Math.min(this.count, Math.ceil((this.view.scrollTop + (this.view.clientHeight || 400)) / ROW) + SPARE);
    for (const [index, element] of this.shown) {
      // The focused row stays in the document, even if it is not visible.
      if ((index < first || index >= last) && index !== this.active) {
        element.remove();
        this.shown.delete(index);
      }
    }
    for (let index = first; index < last; index++) {
      this.add(index);
    }
    if (this.count > 0) {
      this.add(this.active);
    }
  }

  private add(index: number): void {
    if (this.shown.has(index)) {
      return;
    }
    const row = this.options.row(index);
    const cells = row.cells.map((cell, column) => h("div", { role: column === 0 ? "rowheader" : "gridcell", class: this.options.columns[column].number ? "number" : "wide-cell" }, cell));
    const element = h("div", { class: `grid-row ${row.className ?? ""}`, role: "row", "aria-rowindex": index + 2, "aria-selected": String(index === this.active), "aria-label": row.label, "aria-level": row.level ?? null,
      "aria-expanded": row.expanded === undefined ? null : String(row.expanded), tabindex: index === this.active ? 0 : -1,
      onclick: () => this.choose(index), ondblclick: () => this.options.onOpen(index) }, ...cells);
    element.style.top = `${index * ROW}px`;
    if (row.level !== undefined) {
      cells[0].style.paddingLeft = `${Math.min(row.level - 1, 60) * 0.7}em`;
    }
    this.shown.set(index, element);
    // In row order, as screen readers follow the document.
    const after = [...this.body.children].find((other) => Number(other.getAttribute("aria-rowindex")) > index + 2);
    this.body.insertBefore(element, after ?? null);
  }

  private choose(index: number): void {
    this.setActive(index);
    this.shown.get(index)?.focus({ preventScroll: true });
    this.options.onSelect(index);
  }

  private onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || this.count === 0 || !this.body.contains(event.target as Node)) {
      return;
    }
    const page = Math.max(1, Math.floor(this.view.clientHeight / ROW) - 1);
    const moves: { [key: string]: number } = { ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page, Home: 0, End: this.count - 1 };
    if (event.key in moves) {
      event.preventDefault();
      this.choose(Math.max(0, Math.min(this.count - 1, moves[event.key])));
    } else if (event.key === "Enter") {
      event.preventDefault();
      this.options.onOpen(this.active);
    } else if ((event.key === "ArrowRight" || event.key === "ArrowLeft") && this.options.onExpand !== undefined) {
      event.preventDefault();
      this.options.onExpand(this.active, event.key === "ArrowRight");
    }
  }

  setEmpty(text: string): void {
    this.setCount(0);
    replace(this.body, text === "" ? null : h("div", { class: "faint", role: "row" }, h("div", { role: "gridcell" }, text)));
  }
}
