// SPDX-License-Identifier: Apache-2.0
// The data of the black box: how processes ended, and their last profiles.
import * as api from "./api";
import type { Life, LifeSnapshot } from "./documents";
import { h, name, replace, setText, shown } from "./dom";
import { bytes, moment } from "./format";
import * as live from "./live";
import * as route from "./route";
import * as shell from "./shell";

const REFRESH_SECONDS = 10;

const STATES: { [state: string]: string } = {
  "oom-kill": "killed by the kernel for lack of memory", "likely-oom-kill": "killed, probably for lack of memory", signal: "ended by signal",
  exit: "exited with status", unknown: "ended for an unknown reason", lost: "ended while it was not watched", watched: "runs, is watched", runs: "runs",
};

function stateText(life: Life): string {
  const text = STATES[life.state] ?? life.state;
  return life.end !== null && (life.state === "signal" || life.state === "exit") ? `${text} ${life.end.number}` : text;
}

function seconds(time: string | null): number {
  return time === null ? 0 : Date.parse(time) / 1000;
}

function usedText(used: number | null, limit: number | null): string {
  return used === null ? "–" : limit === null ? bytes(used) : `${bytes(used)} of ${bytes(limit)}`;
}

function links(life: Life, dumps: LifeSnapshot[]): Node[] {
  const last = dumps[dumps.length - 1];
  const state = { view: "profile", ended: life.id, dump: String(last.number) };
  const first = dumps.length > 1 ? { ...state, base: String(dumps[0].number) } : null;
  return [h("a", { href: route.address(state) }, "last profile"),
    ...first !== null ? [document.createTextNode(", "), h("a", { href: route.address(first) }, "growth")] : []];
}

function row(life: Life): HTMLElement {
  const latest = life.snapshots[life.snapshots.length - 1];
  const dumps = life.snapshots.filter((snapshot) => snapshot.dump !== null);
  const when = life.end?.time ?? latest?.time ?? null;
  const profiles = dumps.length > 0 ? links(life, dumps) : [latest?.missing ? shown(latest.missing) : "none"];
  return h("tr", null, h("th", { scope: "row" }, name(life.name)), h("td", { class: "number" }, life.pid), h("td", null, stateText(life)),
    h("td", null, when === null ? "–" : moment(seconds(when))),
    h("td", { class: "number" }, usedText(life.end?.used ?? latest?.used ?? null, life.end?.limit ?? latest?.limit ?? null)),
    h("td", null, ...profiles));
}

export class EndedView implements shell.View {
  readonly title = "Ended processes";
  readonly element: HTMLElement;
  private readonly count = h("p", { class: "faint", role: "status" });
  private readonly body = h("tbody");
  private readonly end: () => void;
  private text = "";

  constructor() {
    const heads = ["Process", "Pid", "State", "Time", "Memory in use", "Profile"].map((text) =>
      h("th", { scope: "col", class: text === "Pid" || text === "Memory in use" ? "number" : null }, text));
    this.element = h("div", { class: "wide" }, h("h1", null, "Ended processes"), h("div", { class: "bar" }, this.count),
      h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Ended processes" },
        h("table", { class: "list" }, h("thead", null, h("tr", null, ...heads)), this.body)));
    this.end = live.refreshing(REFRESH_SECONDS, () => this.refresh(), () => true);
  }

  private async refresh(): Promise<void> {
    try {
      const { lives } = await api.json<{ lives: Life[] }>("/api/v1/blackbox");
      const text = JSON.stringify(lives);
      if (text !== this.text) {
        this.text = text;
        replace(this.body, ...lives.map(row));
      }
      setText(this.count, lives.length === 0 ? "The black box has kept nothing of any process."
        : `${lives.length} ${lives.length === 1 ? "process" : "processes"} of which the black box has kept profiles, the latest first`);
    } catch (error) {
      shell.fail(error);
    }
  }

  destroy(): void {
    this.end();
  }
}
