// SPDX-License-Identifier: Apache-2.0
// Requests a profile before its reader clicks: the server takes seconds to read a large dump, and then answers from a
// cache.
import * as api from "./api";
import type { Profile } from "./profile-data";

const LARGE_BYTES = 16 << 20;
const WAIT_MS = 1000; // pause on the view that links to it

let asked: { url: string; answer: Promise<Profile>; abort: AbortController } | null = null;
let timer = 0;

/** The width of a graph, for requests before it is in the document. */
export function width(pixels: number): number {
  return Math.max(320, Math.ceil((pixels || innerWidth) / 64) * 64);
}

/** The first request of the view of a dump at PATH. */
const urlOf = (path: string): string => api.url(path, { width: width(0), format: "page" });

export function drop(): void {
  clearTimeout(timer);
  asked?.abort.abort();
  asked = null;
}

/** Requests the dump at PATH now: its reader is about to click. */
export function ask(path: string): void {
  const url = urlOf(path);
  clearTimeout(timer);
  if (asked?.url === url) {
    return;
  }
  drop();
  const abort = new AbortController();
  const answer = api.json<Profile>(url, { signal: abort.signal, max: api.PROFILE_MAX });
  answer.catch(() => undefined); // reported when it is taken
  asked = { url, answer, abort };
}

/** Requests it soon if it is so large that a click would wait. */
export function askSoon(path: string, bytes: number): void {
  clearTimeout(timer);
  if (bytes >= LARGE_BYTES && asked?.url !== urlOf(path)) {
    timer = window.setTimeout(() => ask(path), WAIT_MS);
  }
}

/** The answer to URL, if it was requested; SIGNAL aborts it as well. */
export function take(url: string, signal: AbortSignal): Promise<Profile> | null {
  if (asked?.url !== url) {
    return null;
  }
  const { answer, abort } = asked;
  asked = null;
  signal.addEventListener("abort", () => abort.abort());
  return answer;
}
