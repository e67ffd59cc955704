// SPDX-License-Identifier: Apache-2.0
// The event stream of the server, and whether the server can be reached.
import * as api from "./api";
import type { ServiceEvent } from "./documents";

const TYPES = ["target-came", "target-gone", "profiling-on", "profiling-off", "control", "recording-started", "recording-ended", "dump",
  "advice", "advice-off", "ended", "rule-fired", "rule-done", "lost"];
const RETRY_MS = 2000;
const SOON_MS = 100;
const KEPT = 500;

type Listener = (event: ServiceEvent) => void;
type StateListener = (connected: boolean) => void;

const listeners = new Set<Listener>();
const stateListeners = new Set<StateListener>();
const kept: ServiceEvent[] = [];
let source: EventSource | null = null;
let timer = 0;
let connected: boolean | null = null;

function setConnected(now: boolean): void {
  if (now !== connected) {
    connected = now;
    stateListeners.forEach((listener) => listener(now));
  }
}

function receive(message: MessageEvent<string>): void {
  const event: ServiceEvent = JSON.parse(message.data);
  event.type ??= message.type;
  if (event.id !== undefined) {
    kept.push(event);
    kept.splice(0, kept.length - KEPT);
  }
  listeners.forEach((listener) => listener(event));
}

/** A rejected stream does not reconnect by itself: 401 requires signing in, anything else is retried. */
async function again(): Promise<void> {
  stop();
  try {
    await api.request("/api/v1/targets");
    start();
  } catch (error) {
    if (!(error instanceof api.ApiError && error.status === 401)) {
      timer = window.setTimeout(again, RETRY_MS);
    }
  }
}

export function start(): void {
  stop();
  source = new EventSource("/api/v1/events?after=0");
  source.onopen = () => setConnected(true);
  kept.length = 0;
  source.onerror = () => {
    setConnected(false);
    if (source?.readyState === EventSource.CLOSED) {
      timer = window.setTimeout(again, RETRY_MS);
    }
  };
  for (const type of TYPES) {
    source.addEventListener(type, receive);
  }
}

export function stop(): void {
  clearTimeout(timer);
  source?.close();
  source = null;
}

/** Calls LISTENER with each event; the result unsubscribes. */
export function onEvent(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls LISTENER whenever the connection is lost or restored. */
export function onState(listener: StateListener): () => void {
  stateListeners.add(listener);
  return () => stateListeners.delete(listener);
}

/** The events about TARGET, a unique id, received since the page was opened, oldest first. */
export function eventsOf(target: string): ServiceEvent[] {
  return kept.filter((event) => event.unique === target);
}

/** Calls REFRESH now, every SECONDS while the page is visible, and soon after each event that CONCERNS it; the result
 * stops this. */
export function refreshing(seconds: number, refresh: () => Promise<void>, concerns: (event: ServiceEvent) => boolean): () => void {
  let pending = 0;
  let due = Infinity;
  let ended = false;
  let running = false;
  let wanted = false;
  const run = async (): Promise<void> => {
    running = true;
    wanted = false;
    await refresh();
    running = false;
    if (!ended) {
      wait(wanted ? SOON_MS : seconds * 1000);
    }
  };
  const tick = (): void => {
    due = Infinity;
    if (document.visibilityState === "visible" && connected !== false) {
      void run();
    }
  };
  // Nothing that is due sooner is postponed: any user can cause events without a pause.
  const wait = (delay: number): void => {
    const at = performance.now() + delay;
    if (at < due) {
      clearTimeout(pending);
      due = at;
      pending = window.setTimeout(tick, delay);
    }
  };
  const soon = (): void => {
    if (running) {
      wanted = true;
    } else {
      wait(SOON_MS);
    }
  };
  const ends = [onEvent((event) => (event.type === "lost" || concerns(event)) && soon()), onState((now) => now && soon())];
  document.addEventListener("visibilitychange", soon);
  void run();
  return () => {
    ended = true;
    clearTimeout(pending);
    document.removeEventListener("visibilitychange", soon);
    ends.forEach((end) => end());
  };
}
