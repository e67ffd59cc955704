// SPDX-License-Identifier: Apache-2.0
// The fleet: services of all hosts, and one of them with its hosts, its profile, what changed and the memory of a
// function over time.
import * as api from "./api";
import { select } from "./choices";
import { h, name, replace, setText, shown } from "./dom";
import { bytes, moment, signed } from "./format";
import * as live from "./live";
import type { Profile } from "./profile-data";
import type { ProfileSource } from "./profile";
import * as route from "./route";
import * as shell from "./shell";
import { sparkline } from "./spark";

const REFRESH_SECONDS = 60;
const ROWS_MAX = 1000; // other hosts decide how many there are
const NORMAL = 1.96; // standard errors of 95 %
const ORDERS: [string, string][] = [["bytes", "in use"], ["waste", "resident and not allocated"], ["growth", "growth in an hour"]];
/** The parameters of /api/v1/fleet that select processes. */
const PART = ["version", "host", "zone", "at", "from", "to"];
const BASES: [string, string][] = [["", "nothing"], ["at:-1h", "an hour ago"], ["at:-24h", "a day ago"], ["at:-7d", "a week ago"],
  ["version:", "this version:"], ["host:", "this host:"]];

interface Group {
  name: string;
  processes: number;
  hosts: number;
  versions: number;
  latest: string;
  inuse: number;
  error: number;
  allocated: number | null;
  resident: number | null;
}

interface Service extends Group {
  growth: number | null;
  growth_error: number | null;
}

interface Host extends Group {
  per_process: number;
  per_process_error: number;
  distance: number | null;
  outlier: boolean | null;
}

interface Hosts {
  time: string;
  median: number | null;
  needed_hosts: number;
  hosts: Host[];
}

interface Holding {
  time: string;
  inuse: number;
  error: number;
  hosts: { host: string; inuse: number; error: number }[];
}

const seconds = (time: string): number => Date.parse(time) / 1000;
const estimate = (value: number, error: number): string => `${bytes(value)} ± ${bytes(NORMAL * error)}`;

function table(label: string, heads: [string, boolean][], body: HTMLElement): HTMLElement {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, h("table", { class: "list" },
    h("thead", null, h("tr", null, ...heads.map(([text, isNumber]) => h("th", { scope: "col", class: isNumber ? "number" : null }, text)))), body));
}

const number = (...parts: (Node | string)[]): HTMLElement => h("td", { class: "number" }, ...parts);

// ---- all services ----

function growthText(service: Service): string {
  if (service.growth === null || service.growth_error === null) {
    return "–";
  }
  const margin = NORMAL * service.growth_error;
  return `${signed(service.growth, "bytes")} ± ${bytes(margin)}${Math.abs(service.growth) <= margin ? ", within the error" : ""}`;
}

function serviceRow(service: Service): HTMLElement {
  const waste = service.resident === null || service.allocated === null ? "–" : bytes(service.resident - service.allocated);
  return h("tr", null, h("th", { scope: "row" }, h("a", { href: route.address({ view: "fleet", service: service.name }) }, name(service.name))),
    number(String(service.processes)), number(String(service.hosts)), number(String(service.versions)), number(estimate(service.inuse, service.error)),
    number(waste), number(growthText(service)), h("td", null, moment(seconds(service.latest))));
}

class ServicesView implements shell.View {
  readonly title = "Fleet";
  readonly element: HTMLElement;
  private readonly order = select("Order", ORDERS, (by) => route.apply({ by: by === "bytes" ? "" : by }));
  private readonly count = h("p", { class: "faint", role: "status" });
  private readonly body = h("tbody");
  private readonly end: () => void;

  constructor(state: route.State) {
    this.element = h("div", { class: "wide" }, h("h1", null, "Fleet"), h("div", { class: "bar" }, h("label", null, "most ", this.order), this.count),
      table("Services", [["Service", false], ["Processes", true], ["Hosts", true], ["Versions", true], ["In use", true], ["Waste", true], ["Growth in an hour", true],
        ["Latest dump", false]], this.body));
    this.order.value = state.by ?? "bytes";
    this.end = live.refreshing(REFRESH_SECONDS, () => this.refresh(), () => false);
  }

  update(state: route.State): boolean {
    this.order.value = state.by ?? "bytes";
    void this.refresh();
    return true;
  }

  private async refresh(): Promise<void> {
    try {
      const { services, time } = await api.json<{ services: Service[]; time: string }>(api.url("/api/v1/fleet/top", { by: this.order.value, count: ROWS_MAX }));
      replace(this.body, ...services.slice(0, ROWS_MAX).map(serviceRow));
      setText(this.count, services.length === 0 ? "The store has no dump of the last minutes." : `${services.length >= ROWS_MAX ? `the first ${ROWS_MAX} services` : services.length === 1 ? "1 service" : `${services.length} services`}, ${moment(seconds(time))}`);
    } catch (error) {
      shell.fail(error);
    }
  }

  destroy(): void {
    this.end();
  }
}

// ---- one service ----

/** The state of a profile of SERVICE, of the processes selected by PART, against BASE. */
function profileState(service: string, part: route.State, base: string, against: string): { [name: string]: string } {
  const [what, value] = base.split(":");
  return { view: "profile", fleet: service, ...part, ...what ? { [`base-${what}`]: value || against } : {} };
}

class ServiceView implements shell.View {
  readonly title: string;
  readonly element: HTMLElement;
  private readonly version = this.field("Version", "any version");
  private readonly against = this.field("Compared with", "which one");
  private readonly base = select("Compared with", BASES, () => this.showAgainst());
  private readonly func = this.field("Function", "name of a function");
  private readonly facts = h("p", { class: "facts" });
  private readonly body = h("tbody");
  private readonly rest = h("p", { class: "faint" });
  private readonly history = h("div");
  private readonly end: () => void;

  constructor(private readonly service: string) {
    this.title = service;
    const go = h("form", { class: "bar", onsubmit: (event: Event) => this.open(event) }, h("label", null, "version ", this.version), h("label", null, "compared with ", this.base),
      this.against, h("button", { type: "submit" }, "Show the profile"));
    const ask = h("form", { class: "bar", onsubmit: (event: Event) => void this.trace(event) }, h("label", null, "history of ", this.func), h("button", { type: "submit" }, "Show"));
    this.element = h("div", { class: "wide" }, h("nav", { class: "crumbs", "aria-label": "Fleet" }, h("a", { href: route.address({ view: "fleet" }) }, "Fleet")),
      h("h1", null, name(service)), this.facts, go, ask, this.history, h("h2", null, "Hosts"),
      table("Hosts", [["Host", false], ["Processes", true], ["In use", true], ["Per process", true], ["Distance from the median", true], ["Remark", false]], this.body), this.rest);
    this.showAgainst();
    this.end = live.refreshing(REFRESH_SECONDS, () => this.refresh(), () => false);
  }

  private field(label: string, placeholder: string): HTMLInputElement {
    return h("input", { type: "text", "aria-label": label, placeholder, spellcheck: "false" });
  }

  private showAgainst(): void {
    this.against.hidden = !this.base.value.endsWith(":") || this.base.value === "";
  }

  private open(event: Event): void {
    event.preventDefault();
    const part: route.State = this.version.value ? { version: this.version.value } : {};
    route.go(profileState(this.service, part, this.base.value, this.against.value));
  }

  private async trace(event: Event): Promise<void> {
    event.preventDefault();
    try {
      const { moments } = await api.json<{ moments: Holding[] }>(api.url("/api/v1/fleet/trace", { service: this.service, function: this.func.value, window: "1h" }));
      const last = moments[moments.length - 1];
      const line = sparkline(moments.map((one): [number, number] => [seconds(one.time), one.inuse]), (low, high) => `from ${bytes(low)} to ${bytes(high)} in a day`);
      replace(this.history, h("p", null, name(this.func.value), " ", line, ` ${estimate(last.inuse, last.error)} on ${last.hosts.length} ${last.hosts.length === 1 ? "host" : "hosts"}`));
    } catch (error) {
      shell.fail(error);
    }
  }

  private hostRow(host: Host): HTMLElement {
    const address = route.address({ view: "profile", fleet: this.service, host: host.name });
    return h("tr", { class: host.outlier ? "grown" : null }, h("th", { scope: "row" }, h("a", { href: address }, name(host.name))), number(String(host.processes)),
      number(estimate(host.inuse, host.error)), number(estimate(host.per_process, host.per_process_error)), number(host.distance === null ? "–" : host.distance.toFixed(1)),
      h("td", null, host.outlier ? "differs from the others" : ""));
  }

  private async refresh(): Promise<void> {
    try {
      const { hosts, time, median, needed_hosts } = await api.json<Hosts>(api.url("/api/v1/fleet/hosts", { service: this.service }));
      replace(this.body, ...hosts.slice(0, ROWS_MAX).map((host) => this.hostRow(host)));
      setText(this.rest, hosts.length > ROWS_MAX ? `${hosts.length - ROWS_MAX} further hosts are not shown.` : "");
      const sum = hosts.reduce((total, host) => total + host.inuse, 0);
      const error = Math.sqrt(hosts.reduce((total, host) => total + host.error ** 2, 0));
      const rest = median === null ? `hosts that differ are sought among ${needed_hosts} or more` : `a process has ${bytes(median)} on the median host`;
      setText(this.facts, `${estimate(sum, error)} in use on ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"} · ${rest} · ${moment(seconds(time))}`);
    } catch (error) {
      shell.fail(error);
    }
  }

  destroy(): void {
    this.end();
  }
}

export function fleetView(state: route.State): shell.View {
  return state.service !== undefined ? new ServiceView(state.service) : new ServicesView(state);
}

/** The service and the processes in the profile of STATE. */
function askedOf(state: route.State): [string, string][] {
  return Object.entries(state).filter(([id]) => PART.includes(id.replace(/^base-/, "")));
}

/** The part that distinguishes profiles of the fleet; empty for other views. */
export function partOf(state: route.State): string {
  return state.fleet === undefined ? "" : JSON.stringify([state.fleet, askedOf(state).sort()]);
}

/** The profile named by STATE: of a service, or the change between two parts of it. */
export function fleetSource(state: route.State): ProfileSource {
  const service = state.fleet ?? "";
  const asked = askedOf(state);
  const isChange = asked.some(([id]) => id.startsWith("base-"));
  const path = `/api/v1/fleet/${isChange ? "diff" : "report"}`;
  const part = asked.map(([id, value]) => `${id.replace(/^base-at$/, "since").replace("base-", "against ")} ${value}`).join(", ");
  return {
    title: `${shown(service)}${part ? `, ${part}` : ""}`, back: { view: "fleet" }, isWhole: false,
    fetch: (query, signal) => api.json<Profile>(api.url(path, { ...query, ...Object.fromEntries(asked), service, format: "page" }), { signal, max: api.PROFILE_MAX }),
  };
}

/** Shows the link to the fleet if the server has a store. */
export async function announce(): Promise<void> {
  const { store } = await api.json<{ store: boolean }>("/api/v1/fleet");
  shell.setFleet(store);
}
