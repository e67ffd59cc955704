// SPDX-License-Identifier: Apache-2.0
// Elements of the document. Text from targets only becomes text nodes, with invisible characters made visible.

export type Child = Node | string | number | null | undefined | false;

type Listeners = { [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void };
export type Props = Listeners & { [name: string]: unknown };

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child instanceof Node) {
      parent.appendChild(child);
    } else if (child !== null && child !== undefined && child !== false) {
      parent.appendChild(document.createTextNode(String(child)));
    }
  }
}

/** An element. "onclick" and the like are listeners, other properties are attributes; false and null: absent, true: empty. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props?: Props | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (typeof value === "function") {
      element.addEventListener(name.slice(2), value as EventListener);
    } else {
      setAttribute(element, name, value);
    }
  }
  append(element, children);
  return element;
}

export function setAttribute(element: Element, name: string, value: unknown): void {
  if (value === false || value === null || value === undefined) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

export function svg(tag: string, attributes: { [name: string]: string | number }, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

/** Sets the text of ELEMENT unless it is unchanged, so that selections and screen readers are not disturbed. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/** TEXT with control characters and bidirectional marks as \x1b or \u202e. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => {
    const code = character.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

const LONG = 400;

/** TEXT from a target: visible(), with the middle omitted if it is very long. */
export function shown(text: string): string {
  const seen = visible(text);
  return seen.length <= LONG ? seen : `${seen.slice(0, LONG / 2)}…${seen.slice(-LONG / 2)}`;
}

/** NAME without the prefix that most names of a program share, so that names in a column can be distinguished. */
export function brief(text: string): string {
  return text.replace(/\(anonymous namespace\)::/g, "").replace(/^void /, "");
}

const FRAMES = 256; // of a stack: thousands of rows of thousands of frames would occupy the browser

/** A stack, innermost frame first, with the middle omitted if it is very deep. */
export function stack<T>(frames: T[], row: (frame: T) => HTMLElement): HTMLElement {
  const left = frames.length - FRAMES;
  const parts = left <= 0 ? frames.map(row)
    : [...frames.slice(0, FRAMES / 2).map(row), h("li", { class: "faint" }, `${left} frames are not shown`), ...frames.slice(-FRAMES / 2).map(row)];
  return h("ol", { class: "stack" }, ...parts);
}

/** A name chosen by a target, isolated from the direction of the surrounding text. */
export function name(text: string, className = "name"): HTMLElement {
  return h("bdi", { class: className, title: text.length > 40 ? visible(text).slice(0, 4096) : null }, shown(text));
}
