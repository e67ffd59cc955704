// SPDX-License-Identifier: Apache-2.0
// The share of a process's memory that the last dump opened in this window explains.
import type { Target } from "./documents";
import type { Profile } from "./profile-data";

const STORED = "jescope-explained";

interface Explained {
  bytes: number;
  taken: number; // of the dump, seconds since 1970
}

function all(): { [target: string]: Explained } {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? "{}");
  } catch {
    return {};
  }
}

/** Stores the share for a dump of TARGET, an id. */
export function note(target: string, profile: Profile): void {
  const known = all();
  const bytes = profile.source.whole.inuse_space?.total;
  const taken = profile.source.time ?? 0;
  if (bytes === undefined || taken < (known[target]?.taken ?? 0)) {
    return;
  }
  try {
    sessionStorage.setItem(STORED, JSON.stringify({ ...known, [target]: { bytes, taken } }));
  } catch {
    // Without storage the share is lost.
  }
}

/** The share for TARGET; null: none of its dumps was opened. */
export function share(target: Target): number | null {
  const found = all()[target.unique];
  const held = target.sample?.held;
  // The pid may belong to another process by now.
  return found === undefined || !held || found.taken < (target.started ?? 0) ? null : Math.min(1, found.bytes / held);
}
