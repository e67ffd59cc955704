// SPDX-License-Identifier: Apache-2.0
// The documents of the API that the page reads (/api/v1/openapi.json has all of them). Times are seconds since 1970.

export interface Lease {
  id: number;
  remaining_seconds: number;
  restores: boolean;
}

export interface Profiling {
  available: boolean;
  obstacle: string | null;
  active: boolean;
  since: "start" | "agent" | "unknown" | null;
  active_since: number | null;
  sample_bytes: number | null;
  lease: Lease | null;
}

export interface Recording {
  id: number;
  state: string;
  begin: number;
  duration_seconds: number;
  remaining_seconds: number;
  dump: number | null;
  why: string | null;
}

export interface Sample {
  time: number;
  held: number | null;
  allocated: number | null;
  active: number | null;
  metadata: number | null;
  resident: number | null;
  mapped: number | null;
  retained: number | null;
  rss: number | null;
  anonymous: number | null;
  outside: number | null;
}

export interface Target {
  id: string;
  unique: string;
  pid: number;
  name: string;
  uid: number;
  user: string | null;
  arguments: string | null;
  control_group: string | null;
  series: string | null;
  state: string | null;
  reach: string | null;
  started: number | null;
  trouble: string | null;
  left_alone: number | null;
  jemalloc: { version: string; found_in: string; config_prof: boolean } | null;
  profiling: Profiling | null;
  recording: Recording | null;
  sample: Sample | null;
  notice: string | null;
}

export interface Dump {
  id: number;
  taken: number;
  bytes: number;
  recording: number | null;
}

/** A snapshot of a process; sizes are bytes, null if unknown. */
export interface LifeSnapshot {
  number: number;
  time: string | null;
  used: number | null;
  limit: number | null;
  dump: string | null;
  missing: string | null;
}

/** A process with snapshots in the black box. */
export interface Life {
  id: string;
  name: string;
  pid: number;
  state: string;
  summary: string;
  end: { time: string | null; number: number; used: number | null; limit: number | null } | null;
  snapshots: LifeSnapshot[];
}

export interface ServiceEvent {
  id: number;
  time: string;
  type: string;
  target?: string;
  unique?: string;
  label?: string;
  who?: string;
  detail?: string;
  subject?: number;
}

export interface Series {
  target: string;
  metric: string;
  type: string;
  unit: string;
  points: [number, number | null][];
}
