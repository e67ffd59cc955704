// SPDX-License-Identifier: Apache-2.0
// The controls of a target. Each describes its effect and how it ends.
import * as api from "./api";
import type { Target } from "./documents";
import { h, replace, setText } from "./dom";
import { bytes, duration } from "./format";
import { mayControl } from "./session";
import * as shell from "./shell";

interface Choice {
  label: string;
  values: [string, string][]; // value, text
}

const RECORD_FOR: Choice = { label: "for", values: [["10s", "10 s"], ["30s", "30 s"], ["60s", "1 min"], ["5m", "5 min"], ["30m", "30 min"], ["2h", "2 h"]] };
const LEASE_FOR: Choice = { label: "for", values: [["60s", "1 min"], ["10m", "10 min"], ["1h", "1 h"], ["8h", "8 h"]] };

function select(choice: Choice, chosen: string): HTMLSelectElement {
  const box = h("select", { "aria-label": choice.label }, ...choice.values.map(([value, text]) => h("option", { value }, text)));
  box.value = chosen;
  return box;
}

export class Controls {
  readonly element: HTMLElement;
  private readonly progress = h("progress", { max: 1, "aria-label": "Recording" });
  private readonly running = h("p", { class: "bar", hidden: true });
  private readonly runningText = h("span");
  private readonly lease = h("p", { class: "bar", hidden: true });
  private readonly leaseText = h("span");
  private readonly dirty = h("input", { type: "number", min: -1, id: "dirty" });
  private readonly muzzy = h("input", { type: "number", min: -1, id: "muzzy" });
  private readonly background = h("input", { type: "checkbox", id: "background" });
  private readonly needProfiling: HTMLButtonElement[] = [];
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly readOnly = h("p", { hidden: true }, "You may only read: a control token is needed for these.");
  private state: Target | null = null;
  private touched = false;

  constructor(private readonly target: string, private readonly done: () => void) {
    const recordFor = select(RECORD_FOR, "30s");
    const leaseFor = select(LEASE_FOR, "10m");
    replace(this.running, this.progress, this.runningText, this.button("Stop the recording", () => this.stop()));
    replace(this.lease, this.leaseText, this.button("End the lease", () => this.endLease()));
    const record = this.button("Record", () => this.post("/recordings", { for: recordFor.value }, () => "The recording has begun."));
    const enable = this.button("Sample", () => this.post("/profiling", { active: true, for: leaseFor.value }, () => "Sampling is on."));
    const dump = this.button("Dump now", () => this.dump());
    const purge = this.button("Purge", () => this.post("/purge", {}, (answer: { resident_before?: number; resident_after?: number }) =>
      `Purged: resident ${bytes(answer.resident_before ?? 0)} before, ${bytes(answer.resident_after ?? 0)} after.`));
    this.needProfiling.push(record, enable, dump);
    for (const field of [this.dirty, this.muzzy]) {
      field.addEventListener("input", () => (this.touched = true));
    }
    this.element = h("div", { class: "controls" }, this.readOnly, this.running, this.lease,
      this.row([record, " ", recordFor], "switches sampling on for this time and keeps a dump at the end; then sampling is as it was before"),
      this.row([dump], "keeps a dump of what is sampled so far; changes nothing"),
      this.row([enable, " ", leaseFor], "switches sampling on under a lease; at its end, or if jescope goes away, sampling is as it was before"),
      this.row([purge], "gives unused pages back to the kernel at once; they are faulted in again when needed"),
      this.row([h("label", null, "dirty ", this.dirty), " ", h("label", null, "muzzy ", this.muzzy), " ms ", this.button("Set decay", () => this.setDecay())],
        "how long unused pages are kept, for present and future arenas until changed again; 0: not at all, −1: always"),
      this.row([h("label", null, this.background, " background threads "), this.button("Set", () => this.setBackground())],
        "threads of jemalloc that purge by time even if the program does not allocate; until changed again"));
  }

  private row(controls: (Node | string)[], about: string): HTMLElement {
    return h("div", { class: "control" }, h("span", null, ...controls), h("span", { class: "faint" }, about));
  }

  private button(text: string, run: () => Promise<void>): HTMLButtonElement {
    const button = h("button", { onclick: async () => {
      button.setAttribute("aria-busy", "true");
      try {
        shell.clearMessages();
        await run();
      } catch (error) {
        shell.fail(error);
      }
      button.removeAttribute("aria-busy");
      this.done();
    } }, text) as HTMLButtonElement;
    this.buttons.push(button);
    return button;
  }

  private async post<T>(rest: string, query: api.Query, told: (answer: T) => string): Promise<void> {
    shell.tell(told(await api.json<T>(api.url(api.targetPath(this.target, rest), query), { method: "POST" })));
  }

  private async dump(): Promise<void> {
    const { id } = await api.json<{ id: number }>(api.targetPath(this.target, "/dumps"), { method: "POST" });
    shell.tell(`Dump ${id} is kept.`);
  }

  private async stop(): Promise<void> {
    if (this.state?.recording) {
      await api.request(api.targetPath(this.target, `/recordings/${this.state.recording.id}/stop`), { method: "POST" });
      shell.tell("The recording has ended, with its dump.");
    }
  }

  private async endLease(): Promise<void> {
    if (this.state?.profiling?.lease) {
      await api.request(api.targetPath(this.target, `/profiling/leases/${this.state.profiling.lease.id}`), { method: "DELETE" });
      shell.tell("The lease has ended.");
    }
  }

  private async setDecay(): Promise<void> {
    const query = { dirty_ms: this.dirty.value, muzzy_ms: this.muzzy.value };
    await api.request(api.url(api.targetPath(this.target, "/decay"), query), { method: "PUT" });
    this.touched = false;
    shell.tell(`Unused pages are now kept for ${query.dirty_ms} ms (dirty) and ${query.muzzy_ms} ms (muzzy).`);
  }

  private async setBackground(): Promise<void> {
    const enabled = this.background.checked;
    await api.request(api.url(api.targetPath(this.target, "/background-thread"), { enabled: String(enabled) }), { method: "PUT" });
    shell.tell(`Background threads are ${enabled ? "on" : "off"}.`);
  }

  /** Shows the recording or lease in progress. */
  set(target: Target): void {
    this.state = target;
    const recording = target.recording?.state === "running" ? target.recording : null;
    this.running.hidden = recording === null;
    if (recording !== null) {
      this.progress.value = recording.duration_seconds > 0 ? 1 - recording.remaining_seconds / recording.duration_seconds : 0;
      setText(this.runningText, `Recording: ${duration(Math.ceil(recording.remaining_seconds))} of ${duration(recording.duration_seconds)} left.`);
    }
    const lease = recording === null ? target.profiling?.lease ?? null : null;
    this.lease.hidden = lease === null;
    if (lease !== null) {
      setText(this.leaseText, `Sampling is on for another ${duration(Math.ceil(lease.remaining_seconds))}.`);
    }
    const allowed = mayControl() && target.state === "live";
    this.readOnly.hidden = mayControl();
    const possible = target.profiling === null || target.profiling.available;
    this.needProfiling.forEach((button) => (button.disabled = !possible || !allowed));
    this.buttons.filter((button) => !this.needProfiling.includes(button)).forEach((button) => (button.disabled = !allowed));
  }

  setDecayTimes(decay: { dirty_ms: number | null; muzzy_ms: number | null }, background: { enabled: boolean }): void {
    if (!this.touched && !this.element.contains(document.activeElement)) {
      this.dirty.value = String(decay.dirty_ms ?? "");
      this.muzzy.value = String(decay.muzzy_ms ?? "");
      this.background.checked = background.enabled;
    }
  }
}
