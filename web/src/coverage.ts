// SPDX-License-Identifier: Apache-2.0
// How much of a process's memory the last dump explains that this window has looked at.
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

/** PROFILE is of a dump of TARGET, an id. */
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
    // Without storage it is not known later.
  }
}

/** The share of the memory that TARGET holds; null: none of its dumps was looked at. */
export function share(target: Target): number | null {
  const found = all()[target.id];
  const held = target.sample?.held;
  // A pid may be another process's by now.
  return found === undefined || !held || found.taken < (target.started ?? 0) ? null : Math.min(1, found.bytes / held);
}
