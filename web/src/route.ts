// SPDX-License-Identifier: Apache-2.0
// The address contains the state of the page: a link shows the same to every reader. In a page from a file it is after
// '#'.

export type State = { [name: string]: string };

const isFile = document.getElementById("data") !== null;
let onchange: (state: State) => void = () => undefined;

export function read(): State {
  return Object.fromEntries(new URLSearchParams(isFile ? location.hash.slice(1) : location.search));
}

function clean(changes: { [name: string]: string | null | undefined }): State {
  const state: State = {};
  for (const [name, value] of Object.entries(changes)) {
    if (value !== null && value !== undefined && value !== "") {
      state[name] = value;
    }
  }
  return state;
}

/** The address of STATE. */
export function address(state: { [name: string]: string | null | undefined }): string {
  const query = new URLSearchParams(clean(state)).toString();
  return isFile ? `#${query}` : query ? `/?${query}` : "/";
}

/** The present state with CHANGES; an empty value removes. */
export function changed(changes: { [name: string]: string | null | undefined }): State {
  return clean({ ...read(), ...changes });
}

/** Whether the target ID of a state is one that no other process has, unlike a pid or a name. */
export function isBound(id: string): boolean {
  return /^[0-9]+\.[0-9]+$/.test(id);
}

/** Shows STATE, as a step that the browser's Back reverts. */
export function go(state: { [name: string]: string | null | undefined }): void {
  history.pushState(null, "", address(state));
  onchange(read());
}

/** Adds CHANGES of the present state to the address. */
export function note(changes: { [name: string]: string | null | undefined }): void {
  history.replaceState(null, "", address(changed(changes)));
}

/** Adds CHANGES and shows the result; "step": Back reverts it. */
export function apply(changes: { [name: string]: string | null | undefined }, how: "step" | "replace" = "step"): void {
  if (how === "step") {
    history.pushState(null, "", address(changed(changes)));
  } else {
    note(changes);
  }
  onchange(read());
}

/** Calls SHOW with each state to be shown from now on. Links within the page become steps. */
export function start(show: (state: State) => void): void {
  onchange = show;
  addEventListener("popstate", () => show(read()));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) {
      return;
    }
    const own = link.origin === location.origin && link.pathname === location.pathname && !isFile;
    if (own && !link.hasAttribute("download") && link.getAttribute("href")?.startsWith("/?") || link.getAttribute("href") === "/") {
      event.preventDefault();
      history.pushState(null, "", link.href);
      show(read());
      scrollTo(0, 0);
    }
  });
}
