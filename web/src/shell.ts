// SPDX-License-Identifier: Apache-2.0
// The frame around every view: the heading, messages, the state of the connection, the theme.
import { ApiError, isAbort, isTooLarge } from "./api";
import { h, replace, setText, shown } from "./dom";
import * as keys from "./keys";
import { address } from "./route";

const THEMES = ["auto", "light", "dark"] as const;
const STORED = "jescope-theme";

export interface View {
  title: string;
  element: HTMLElement;
  keys?: keys.Key[];
  /** Shows another state of the same view; false: the view must be rebuilt. */
  update?(state: { [name: string]: string }): boolean;
  destroy?(): void;
}

const help = h("dialog", { "aria-labelledby": "help-title" });
const live = h("div", { class: "unseen", role: "status" });
const lost = h("p", { class: "lost", role: "alert" });
const messages = h("div", { class: "messages", "aria-live": "polite" });
const main = h("main", { id: "view", tabindex: -1 });
const fleet = h("a", { href: address({ view: "fleet" }), hidden: true }, "Fleet");
const account = h("span", { class: "account" });
const theme = h("button", { class: "quiet", onclick: nextTheme });

function stored(): string {
  try {
    return localStorage.getItem(STORED) ?? "auto";
  } catch {
    return "auto";
  }
}

function setTheme(name: string): void {
  if (name === "auto") {
    delete document.documentElement.dataset.theme;
  } else {
    document.documentElement.dataset.theme = name;
  }
  setText(theme, `Theme: ${name}`);
  dispatchEvent(new Event("themechange"));
}

function nextTheme(): void {
  const name = THEMES[(THEMES.indexOf(stored() as (typeof THEMES)[number]) + 1) % THEMES.length];
  try {
    localStorage.setItem(STORED, name);
  } catch {
    // A page from a file may have no storage: the theme lasts until it is closed.
  }
  setTheme(name);
}

/** Calls LISTENER when colours change; the result unsubscribes. */
export function onTheme(listener: () => void): () => void {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  addEventListener("themechange", listener);
  dark.addEventListener("change", listener);
  return () => {
    removeEventListener("themechange", listener);
    dark.removeEventListener("change", listener);
  };
}

/** Announces TEXT to screen readers. */
export function say(text: string): void {
  live.textContent = text;
}

function message(kind: "error" | "done", ...parts: (Node | string)[]): void {
  const box: HTMLElement = h("div", { class: `message ${kind}`, role: kind === "error" ? "alert" : null }, h("span", null, ...parts),
    h("button", { class: "quiet", "aria-label": "Dismiss", onclick: () => box.remove() }, "×"));
  messages.replaceChildren(box);
}

/** Shows why something failed and what to do; an aborted request is not a failure. */
export function fail(error: unknown): void {
  if (isAbort(error) || error instanceof ApiError && (error.status === 401 || error.status === 0)) {
    return;
  }
  message("error", ...explain(error));
}

/** The sentences of ERROR. */
export function explain(error: unknown): (Node | string)[] {
  if (error instanceof ApiError) {
    return [h("strong", null, shown(error.message)), error.hint ? `: ${shown(error.hint)}` : "",
      ...isTooLarge(error) ? [" ", h("button", { onclick: () => location.reload() }, "Try again")] : []];
  }
  return [h("strong", null, "this page failed"), `: ${shown(String(error))}; reload it, and report this`];
}

export function tell(text: string): void {
  message("done", text);
}

export function clearMessages(): void {
  messages.replaceChildren();
}

export function setLost(text: string | null): void {
  setText(lost, text ?? "");
  lost.hidden = text === null;
}

/** Shows the user of the page beside the heading. */
export function setAccount(...parts: (Node | string)[]): void {
  replace(account, ...parts);
}

/** Sets whether the server has a fleet. */
export function setFleet(there: boolean): void {
  fleet.hidden = !there;
}

export function show(view: View): void {
  clearMessages();
  document.title = `${view.title} · jescope`;
  keys.setView(view.keys ?? []);
  main.replaceChildren(view.element);
}

/** Moves the focus to the beginning of the view, for users of screen readers. */
export function focusView(): void {
  const heading = main.querySelector<HTMLElement>("h1");
  if (heading !== null) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

export function showHelp(): void {
  keys.showHelp(help);
}

export function start(page: HTMLElement, isFile: boolean): void {
  setTheme(stored());
  setLost(null);
  const heading = h("header", { class: "top" }, isFile ? h("span", { class: "brand" }, "jescope") : h("a", { class: "brand", href: address({}) }, "jescope"),
    isFile ? null : h("nav", { "aria-label": "Views" }, h("a", { href: address({}) }, "Targets"), h("a", { href: address({ view: "files" }) }, "Files"), fleet), account, theme,
    h("button", { class: "quiet", onclick: showHelp, "aria-label": "Keys of the page" }, "Keys ?"));
  page.replaceWith(h("button", { class: "skip", onclick: () => main.focus() }, "To the content"), heading, lost, messages, main, live, help);
}
