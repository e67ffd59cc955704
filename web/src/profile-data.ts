// SPDX-License-Identifier: Apache-2.0
// The report format "page" (docs/formats.md): columns of numbers, and values derived from them.

export interface Graph {
  found: boolean;
  path: number; // the first row of the graph; those before it are its ancestors
  nodes: number;
  hidden_nodes: number;
  parent: number[];
  level: number[];
  frame: number[]; // -1: all
  total: number[];
  self: number[];
  error: number[];
  other: number[];
  extent?: number[]; // these only with a base
  base?: number[];
  base_error?: number[];
  significance?: number[];
  hidden: { row: number[]; count: number[]; total: number[] };
}

export interface Table {
  frame: number[];
  flat: number[];
  flat_error: number[];
  cum: number[];
  cum_error: number[];
  flat_base?: number[];
  flat_significance?: number[];
  cum_base?: number[];
  cum_significance?: number[];
  hidden: { count: number; total: number };
}

export interface Stacks {
  frames: number[][];
  total: number[];
  error: number[];
  other: number[];
  base?: number[];
  significance?: number[];
  hidden: { count: number; total: number };
}

interface Values {
  [value: string]: { total: number; error: number };
}

interface Source {
  name: string;
  time?: number;
  period: number;
  stacks: number;
  whole: Values;
  shown: Values;
}

export interface Profile {
  value: string;
  unit: string;
  by: string;
  inverted: boolean;
  noise: number;
  source: Source;
  base?: Source;
  notes: string[];
  empty?: string;
  frames: { name: string[]; full: (string | null)[]; module: (string | null)[]; file: (string | null)[]; line: number[]; origin: number[] };
  graph?: Graph;
  function?: string;
  known?: boolean;
  callers?: Graph;
  callees?: Graph;
  table?: Table;
  stacks?: Stacks;
}

/** The layout of a graph: where each row begins, in units of the value, and the rows of each level from left to
 * right. */
export interface Layout {
  graph: Graph;
  extent: number[];
  x: number[];
  levels: number[][];
  children: number[][];
  hidden: Map<number, { count: number; total: number }>;
}

export function layOut(graph: Graph): Layout {
  const extent = graph.extent ?? graph.total;
  const n = graph.parent.length;
  const x = new Array<number>(n).fill(0);
  const filled = new Array<number>(n).fill(0);
  const levels: number[][] = [];
  const children: number[][] = Array.from({ length: n }, () => []);
  for (let row = 0; row < n; row++) {
    const parent = graph.parent[row];
    if (parent >= 0) {
      x[row] = x[parent] + filled[parent];
      filled[parent] += extent[row];
      children[parent].push(row);
    }
    (levels[graph.level[row]] ??= []).push(row);
  }
  const hidden = new Map(graph.hidden.row.map((row, index) => [row, { count: graph.hidden.count[index], total: graph.hidden.total[index] }]));
  return { graph, extent, x, levels, children, hidden };
}

/** The rows from the root to ROW. */
export function ancestry(graph: Graph, row: number): number[] {
  const rows: number[] = [];
  for (let at = row; at >= 0; at = graph.parent[at]) {
    rows.unshift(at);
  }
  return rows;
}

export function rowName(profile: Profile, graph: Graph, row: number): string {
  return graph.frame[row] < 0 ? "all" : profile.frames.name[graph.frame[row]];
}

const FNV_BASIS = BigInt("0xcbf29ce484222325");
const FNV_PRIME = BigInt("0x100000001b3");
const encoder = new TextEncoder();

const times = (hash: bigint): bigint => BigInt.asUintN(64, hash * FNV_PRIME);

/** The key of the frame NAME called from the frame with the key CALLER: a hash of that key and the 64-bit FNV-1a of the
 * name. */
function hashName(caller: bigint, name: string): bigint {
  let hash = FNV_BASIS;
  for (const byte of encoder.encode(name)) {
    hash = times(hash ^ BigInt(byte));
  }
  return times(caller ^ hash);
}

const written = (hash: bigint): string => hash.toString(16).padStart(16, "0");

/** The key of ROW, which identifies the same frame in other dumps: a hash of the names from the outermost frame. "":
 * the root. */
export function keyOf(profile: Profile, graph: Graph, row: number): string {
  const rows = ancestry(graph, row).filter((at) => graph.frame[at] >= 0);
  return rows.length === 0 ? "" : written(rows.reduce((hash, at) => hashName(hash, rowName(profile, graph, at)), FNV_BASIS));
}

/** The row with KEY; the root if there is no such row. */
export function rowOf(profile: Profile, graph: Graph, key: string): number {
  const hashes: bigint[] = [];
  for (let row = 0; row < graph.parent.length; row++) {
    const above = graph.parent[row] < 0 ? FNV_BASIS : hashes[graph.parent[row]];
    hashes.push(graph.frame[row] < 0 ? above : hashName(above, rowName(profile, graph, row)));
    if (graph.frame[row] >= 0 && written(hashes[row]) === key) {
      return row;
    }
  }
  return 0;
}

/** A pattern that matches only NAME. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")}$`;
}

export function isSignificant(profile: Profile, significance: number): boolean {
  return Math.abs(significance) > profile.noise;
}
