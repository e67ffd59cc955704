// SPDX-License-Identifier: Apache-2.0
// Keys of the page. Those of a view are active while it is shown; '?' lists all.
import { h, replace } from "./dom";

export interface Key {
  key: string; // as KeyboardEvent.key
  text: string;
  run?: () => void; // absent: listed only, since an element handles it
}

let global: Key[] = [];
let ofView: Key[] = [];

const NAMES: { [key: string]: string } = { " ": "Space", ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→", Escape: "Esc" };

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type) ||
    target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement;
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) {
    return;
  }
  if (document.querySelector("dialog[open]") !== null) {
    return;
  }
  const found = [...ofView, ...global].find((key) => key.key === event.key && key.run !== undefined);
  if (found?.run !== undefined) {
    event.preventDefault();
    found.run();
  }
}

export function start(keys: Key[]): void {
  global = keys;
  document.addEventListener("keydown", onKey);
}

export function setView(keys: Key[]): void {
  ofView = keys;
}

function rows(title: string, keys: Key[]): HTMLElement[] {
  return keys.length === 0 ? [] : [h("h3", null, title), h("dl", { class: "keys" }, ...keys.flatMap((key) => [
    h("dt", null, h("kbd", null, key.key.split(" ").map((word) => NAMES[word] ?? word).join(" ") || "Space")), h("dd", null, key.text)]))];
}

export function showHelp(dialog: HTMLDialogElement): void {
  replace(dialog, h("h2", { id: "help-title" }, "Keys"), ...rows("In this view", ofView), ...rows("Everywhere", global),
    h("p", null, "Tab goes to the next element, Shift+Tab to the previous one."),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")));
  dialog.showModal();
}
